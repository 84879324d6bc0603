// SPDX-License-Identifier: Apache-2.0
//
// Makes Prometheus's histograms of Copse's.
#ifndef COPSE_CLI_EXPORTER_HISTOGRAMS_H_
#define COPSE_CLI_EXPORTER_HISTOGRAMS_H_

#include <string>

#include "base/histogram.h"
#include "google/protobuf/repeated_ptr_field.h"
#include "prometheus/client_metric.h"
#include "prometheus/metric_family.h"
#include "proto/copse/v1/admin.pb.h"

namespace copse::exporter {

// Eleven bounds, from 4 us to 4 s, each four times the one before: powers of two nanoseconds, which are bounds of
// Histogram's buckets, too, so that counts are exact.
inline constexpr int kBoundBitsFirst = 12, kBoundBitsLast = 32, kBoundBitsStep = 2;

// Returns the values in seconds.
prometheus::ClientMetric HistogramMetric(const Histogram& histogram);

// Returns what calls took, by collective and part, of all sizes together. Leaves out rows that are not sound.
prometheus::MetricFamily CallDurations(const google::protobuf::RepeatedPtrField<v1::LatencyRow>& rows);

// Returns a family of one histogram, which is empty if the row is not sound.
prometheus::MetricFamily DurationFamily(const std::string& name, const std::string& help, const v1::LatencyRow& row);

}  // namespace copse::exporter

#endif  // COPSE_CLI_EXPORTER_HISTOGRAMS_H_

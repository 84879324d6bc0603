/* SPDX-License-Identifier: Apache-2.0 */
/* Computes until it is killed: what others on a busy machine do. */
int main(void) {
  for (volatile unsigned long turns = 0;;) turns = turns + 1;
}

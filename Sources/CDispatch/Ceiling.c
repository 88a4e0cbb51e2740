// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// The one function of the mathematical library that the compiler's hash tables call, to turn a number of elements into
// a size: with this, the C library is all that is needed.

extern double ceil(double value) __attribute__((__visibility__("hidden")));

// For numbers that an integer holds, and no size is another.
double ceil(double value) {
  double whole = (double)(long long)value;
  return whole < value ? whole + 1 : whole;
}

// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// A block takes the values of variables around it along.
//
// Prints:
//   123 456 789

#include <stdio.h>

int main(void) {
  int x = 123;
  int y = 456;

  void (^aBlock)(int) = ^(int z) {
    printf("%d %d %d\n", x, y, z);
  };

  // The block has its own x.
  x = 0;
  aBlock(789);
}

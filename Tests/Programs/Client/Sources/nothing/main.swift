// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

for number in 1...3 {
  print("item \(number)")
}

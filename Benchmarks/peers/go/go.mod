// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
module grandcentral/peer

go 1.19

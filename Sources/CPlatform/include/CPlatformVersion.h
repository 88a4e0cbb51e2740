// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
//
// The one place of the version: the library, its region, the tool, its manual page and every package have it from here.

#ifndef GC_CPLATFORM_VERSION_H
#define GC_CPLATFORM_VERSION_H

#define GC_VERSION "0.1.0"

#endif

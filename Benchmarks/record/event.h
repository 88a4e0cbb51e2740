// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
//
// A tracepoint of LTTng with what our record has: a queue, a job and a word. LTTng reads this file several times.

#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER gc_record
#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "./event.h"

#if !defined(GC_EVENT_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define GC_EVENT_H

#include <lttng/tracepoint.h>
#include <stdint.h>

LTTNG_UST_TRACEPOINT_EVENT(
    gc_record, item, LTTNG_UST_TP_ARGS(uint32_t, queue, uint32_t, argument, uint64_t, word),
    LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(uint32_t, queue, queue) lttng_ust_field_integer(uint32_t, argument, argument)
                            lttng_ust_field_integer(uint64_t, word, word)))

#endif

#include <lttng/tracepoint-event.h>

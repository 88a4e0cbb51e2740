// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
#ifndef GC_PERTURBATION_H
#define GC_PERTURBATION_H

// A point at which this thread may be held up, by chance; GC_PERTURB=0 in the environment switches the delays off.
void gc_perturb(void);

#endif

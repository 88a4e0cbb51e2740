// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// The functions with a variable number of arguments, which Swift cannot define.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "CDispatchGlue.h"

void dispatch_debugv(dispatch_object_t object, const char *message, va_list arguments) {
  char text[1024];
  if (vsnprintf(text, sizeof text, message, arguments) < 0) return;
  fprintf(stderr, "GrandCentral: object %p: %s\n", object, text);
}

void dispatch_debug(dispatch_object_t object, const char *message, ...) {
  va_list arguments;
  va_start(arguments, message);
  dispatch_debugv(object, message, arguments);
  va_end(arguments);
}

extern void _dispatch_log(const char *message, ...);
void _dispatch_log(const char *message, ...) {
  va_list arguments;
  va_start(arguments, message);
  vfprintf(stderr, message, arguments);
  va_end(arguments);
  fputc('\n', stderr);
}

void *gcd_allocate(size_t size) {
  void *memory = malloc(size);
  if (!memory) abort();
  return memory;
}

char *gcd_copy_text(const char *text) {
  if (!text || !*text) return NULL;
  char *copy = strdup(text);
  if (!copy) abort();
  return copy;
}

// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
//
// A program without blocks, which loads itself a second time as a plugin that has some: built with -DPLUGIN and linked
// with -ldispatch alone, it counts on that library for what blocks need.

#include <dlfcn.h>
#include <stdio.h>

#ifdef PLUGIN
#include <dispatch/dispatch.h>

int plugin_run(void) {
  __block int sum = 0;
  dispatch_queue_t queue = dispatch_queue_create("plugin", NULL);
  dispatch_async(queue, ^{ sum += 3; });
  dispatch_sync(queue, ^{ sum += 4; });
  dispatch_release(queue);
  return sum;
}
#else
int main(int count, char **arguments) {
  void *plugin = count > 1 ? dlopen(arguments[1], RTLD_NOW) : NULL;
  if (plugin == NULL) {
    fprintf(stderr, "%s\n", count > 1 ? dlerror() : "usage: plugin LIBRARY");
    return 1;
  }
  int (*run)(void) = (int (*)(void))dlsym(plugin, "plugin_run");
  int sum = run();
  printf("a plugin with blocks: %d\n", sum);
  return sum == 7 ? 0 : 1;
}
#endif

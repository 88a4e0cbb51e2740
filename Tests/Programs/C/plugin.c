// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
//
// A program without blocks, which loads itself a second time as a plugin that has some: built with -DPLUGIN and linked
// with -ldispatch alone, it counts on that library for what blocks need. When the plugin is unloaded that library stays, as its
// threads are in it.

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
  dlclose(plugin);
  int stays = dlopen("libdispatch.so", RTLD_NOW | RTLD_NOLOAD) != NULL;
  printf("a plugin with blocks: %d; the library %s\n", sum, stays ? "stays" : "has been unloaded");
  return sum == 7 && stays ? 0 : 1;
}
#endif

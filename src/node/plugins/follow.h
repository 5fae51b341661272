/*
 * follow - device plugins that are registered with a kubelet, read by a second client.
 *
 * plugins_follow() adds one. While its plugin is away it is dialled again. Only for the files
 * behind plugins.h.
 */
#ifndef NODE_PLUGINS_FOLLOW_H
#define NODE_PLUGINS_FOLLOW_H

struct plugins;

void plugin_follows_free(struct plugins *p);

#endif

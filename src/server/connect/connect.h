/*
 * connect - the verb of subresources that are proxied to nodes, pods and services: log, exec,
 * proxy and so on.
 */
#ifndef SERVER_CONNECT_CONNECT_H
#define SERVER_CONNECT_CONNECT_H

struct exchange;

/* Before the call the body is complete and the exchange's request, kind and accept are set. */
void verb_connect(struct exchange *x);

#endif

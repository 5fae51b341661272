/*
 * connect - the verb of subresources that lead on to nodes and pods: log, exec, proxy and so on.
 */
#ifndef SERVER_CONNECT_CONNECT_H
#define SERVER_CONNECT_CONNECT_H

struct exchange;

/* The body is collected; request, kind and accept are set. */
void verb_connect(struct exchange *x);

#endif

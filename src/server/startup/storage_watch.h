/*
 * storage_watch - tidies StorageVersion objects soon after a client has written one.
 *
 * A server looks after all of them at its start and every ten minutes (storage_versions.h). But an
 * entry of a server that does not exist, which anybody with the right may write, should not stay
 * that long.
 *
 * Threads: the state's loop.
 */
#ifndef SERVER_STARTUP_STORAGE_WATCH_H
#define SERVER_STARTUP_STORAGE_WATCH_H

#include "server/engine/state.h"

struct server;
struct storage_watch;

enum { STORAGE_WATCH_MS = 1000 }; /* so many changes are dealt with at once */

struct storage_watch *storage_watch_new(struct server *s);
void storage_watch_stop(struct storage_watch *w);
void storage_watch_free(struct storage_watch *w); /* NULL allowed; after it was stopped */

/* The observer to create the state with. */
struct state_observer storage_watch_observer(struct storage_watch *w);

#endif

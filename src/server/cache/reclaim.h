/*
 * reclaim - frees memory that readers on other threads may still be reading.
 *
 * One writer and a fixed number of readers, without locks (epoch-based reclamation). A reader
 * brackets each read of shared pointers by reclaim_enter() and reclaim_leave(). The writer first
 * unlinks an object, so that no new reader can find it, and then retires it. The object is freed
 * when every read section that may have found it has ended. A section must be short, because
 * nothing that is retired meanwhile can be freed.
 *
 * The writer must unlink with a sequentially consistent store, and readers must load with
 * sequentially consistent loads: reclaim.c has the argument.
 *
 * Threads: reclaim_enter() and reclaim_leave() on the reader's thread, everything else on the
 * writer's.
 */
#ifndef SERVER_CACHE_RECLAIM_H
#define SERVER_CACHE_RECLAIM_H

#include <stddef.h>

struct reclaim;

struct reclaim *reclaim_new(size_t nreaders);

/* Frees everything that is retired. There must be no readers any more. NULL allowed. */
void reclaim_free(struct reclaim *r);

/* A read section of one reader, 0 .. nreaders - 1. Sections of one reader do not nest. */
void reclaim_enter(struct reclaim *r, size_t reader);
void reclaim_leave(struct reclaim *r, size_t reader);

/* Calls drop(p), now or later, when no reader can have p any more. drop() must not retire. */
void reclaim_retire(struct reclaim *r, void *p, void (*drop)(void *p));

/*
 * Frees all that can be freed now. reclaim_retire() does it from time to time by itself, so this is
 * for the end of a batch of writes. Costs nothing if nothing is retired. NULL allowed.
 */
void reclaim_flush(struct reclaim *r);

/* The number of retired objects that are not freed yet. */
size_t reclaim_pending(const struct reclaim *r);

#endif

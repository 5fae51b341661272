/*
 * identity - this server's name among those on one store, and who of the others is gone.
 *
 * With etcd a server keeps a Lease of its name in kube-system, as upstream's servers do; whose
 * Lease has run out, or was deleted, is gone. A data folder belongs to one server at a
 * time, so without etcd there is no Lease, all servers have the same name, and whoever else
 * left traces is gone.
 * Threads: the state's loop.
 */
#ifndef SERVER_STARTUP_IDENTITY_H
#define SERVER_STARTUP_IDENTITY_H

#include <stdbool.h>

#include "base/core/error.h"
#include "base/core/str.h"

struct ensure;
struct identity;
struct server;

/*
 * With etcd the name lies in the file `server-id` of the data folder, made once at random, so
 * that it outlives restarts and is nobody else's; where that cannot be read or written, it holds
 * for this run. Whoever copies a data folder for another server leaves the file out.
 */
struct identity *identity_new(struct server *s);

/* Makes that file, where it is missing, for a server that may only read it. */
int identity_make_file(const char *dir, struct error *err);

struct str identity_name(const struct identity *i);

/*
 * Writes the Lease now and from time to time, and deletes those of servers that are long gone.
 * `renewed` after each time but the first. Once kube-system is there; nothing while stopping.
 */
void identity_keep(struct identity *i, void (*renewed)(struct server *s));

bool identity_is_gone(const struct identity *i, struct ensure *e, struct str name);

/* Deletes the Lease, unless the store does not take writes just now. While the state is there. */
void identity_stop(struct identity *i);
void identity_free(struct identity *i);

#endif

/*
 * identity - this server's name among the servers on one store, and which others are gone.
 *
 * With etcd a server keeps a Lease with its name in kube-system, as upstream's servers do. A
 * server whose Lease has expired or was deleted is gone. A data folder belongs to one server at a
 * time, so without etcd there is no Lease, all servers have the same name, and any other name
 * belongs to a server that is gone.
 *
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
 * With etcd the name is in the file `server-id` of the data folder. It is made once at random, so
 * it survives restarts and is unique. If the file cannot be read or written, the name is valid
 * for this run only. If you copy a data folder for another server, leave the file out.
 */
struct identity *identity_new(struct server *s);

struct str identity_name(const struct identity *i);

/*
 * Writes the Lease now and periodically, and deletes those of servers that are long gone. Calls
 * `renewed` after each write but the first. Call it when kube-system exists. Does nothing while
 * the server stops.
 */
void identity_keep(struct identity *i, void (*renewed)(struct server *s));

bool identity_is_gone(const struct identity *i, struct ensure *e, struct str name);

/*
 * Deletes the Lease, unless the store does not accept writes at the moment. Call it while the
 * state still exists.
 */
void identity_stop(struct identity *i);
void identity_free(struct identity *i);

#endif

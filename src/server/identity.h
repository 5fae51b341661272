/*
 * identity - this server's name among those on one store, and who of the others is gone.
 *
 * With etcd a server keeps a Lease of its name in kube-system, as upstream's servers do; whose
 * Lease has run out, or was deleted, is gone. A data folder belongs to one server at a
 * time, so without etcd there is no Lease and whoever else left traces is gone.
 * Threads: the state's loop.
 */
#ifndef SERVER_IDENTITY_H
#define SERVER_IDENTITY_H

#include <stdbool.h>

#include "base/str.h"

struct ensure;
struct identity;
struct server;

/*
 * The name follows from those of the machine and of the data folder, which must be there, so that
 * it outlives restarts.
 */
struct identity *identity_new(struct server *s);

struct str identity_name(const struct identity *i);

/* Writes the Lease now and from time to time. Once kube-system is there. */
void identity_keep(struct identity *i);

bool identity_is_gone(const struct identity *i, struct ensure *e, struct str name);

void identity_stop(struct identity *i);
void identity_free(struct identity *i);

#endif

/*
 * storage_versions - tells in which version each kind is stored.
 *
 * A StorageVersion for each kind of ours that is stored, with an entry for each server on the
 * store: what it stores, what it can read, what it serves. Who upgrades a cluster sees there
 * when all servers store the new version. Custom kinds have status.storedVersions instead.
 * No controller collects these objects: the servers themselves do.
 */
#ifndef SERVER_STARTUP_STORAGE_VERSIONS_H
#define SERVER_STARTUP_STORAGE_VERSIONS_H

#include "base/core/error.h"

struct server;

/*
 * Puts this server's entries right and drops those of servers that are gone, and its own of
 * kinds that it does not serve; what has no entry then is deleted. `done` when that is so, or
 * with why it cannot be: nothing that a server depends on. Writes what differs, which is most
 * often nothing. On the state's loop, once kube-system is there.
 */
void storage_versions_ensure(struct server *s, void (*done)(void *arg, const struct error *err),
			     void *arg);

#endif

/*
 * storage_versions - publishes in which version each kind is stored.
 *
 * There is a StorageVersion object for each compiled-in kind that is stored, with an entry for
 * each server on the store: the versions that it stores, can read, and serves. During an upgrade
 * these objects show when all servers store the new version. Custom kinds have
 * status.storedVersions instead. No controller collects these objects; the servers do.
 */
#ifndef SERVER_STARTUP_STORAGE_VERSIONS_H
#define SERVER_STARTUP_STORAGE_VERSIONS_H

#include "base/core/error.h"

struct server;

/*
 * Corrects this server's entries, removes those of servers that are gone and its own for kinds
 * that it does not serve, and deletes objects without entries. Writes only differences, usually
 * none. Calls `done` at the end, or with an error; nothing in the server depends on it. On the
 * state's loop, once kube-system exists.
 */
void storage_versions_ensure(struct server *s, void (*done)(void *arg, const struct error *err),
			     void *arg);

/*
 * Only removes the entries of servers that are gone, and objects without entries. Servers that take
 * each other for gone, as when one is behind, come to rest: none of them adds anything.
 */
void storage_versions_tidy(struct server *s, void (*done)(void *arg, const struct error *err),
			   void *arg);

#endif

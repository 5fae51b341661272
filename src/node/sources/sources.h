/*
 * sources - ConfigMaps, Secrets, Services and tokens that pods of this node use, and their changes.
 *
 * An object is fetched when a pod first needs it, and then watched by name while a pod needs it
 * (upstream's watch-based manager), because a node may read only objects that its pods name. An
 * immutable object is kept and no longer watched. Services are watched in the namespaces of pods
 * that want their variables, and default/kubernetes. Service account tokens are requested
 * (TokenRequest, bound to the pod) and renewed at four fifths of their life, or after a day, with a
 * random offset of some seconds.
 * Threads: the loop's.
 */
#ifndef NODE_SOURCES_SOURCES_H
#define NODE_SOURCES_SOURCES_H

#include "base/core/arena.h"
#include "base/core/error.h"
#include "base/json/json.h"
#include "node/pod/pod.h"

struct client;
struct informers;
struct loop;
struct sources;

struct sources_opts {
	struct loop *loop;
	struct client *client; /* NULL: only objects of sources_put() exist */
	/* An object that the pod uses has changed: write its volumes again. NULL allowed. */
	void (*on_change)(void *arg, struct str pod_uid);
	void *arg;
};

struct sources *sources_new(const struct sources_opts *opts);
void sources_free(struct sources *s); /* NULL allowed; no callback is called after this */

/*
 * Fetches everything that the pod's volumes, environment and pull secrets name. `done` is called
 * once, not from within, when each object is known to exist or not. Call it again after the pod has
 * changed. If the server does not reply within two seconds, `done` gets an error with the cause.
 * You may call it again; the pending reply is still awaited. After sources_drop() `done` is not
 * called.
 */
typedef void sources_done(void *arg, const struct error *err);
void sources_want(struct sources *s, struct pod *pod, sources_done *done, void *arg);
void sources_drop(struct sources *s, struct str pod_uid);

/* Returns the object's tree in `a`; NULL if it does not exist (or was not requested). */
struct json *sources_config_map(const struct sources *s, struct str ns, struct str name,
				struct arena *a);
struct json *sources_secret(const struct sources *s, struct str ns, struct str name,
			    struct arena *a);

/*
 * The Services whose variables a pod in `ns` gets, by name: those of the namespace if `links` is
 * set, and always default/kubernetes, unless the namespace has a Service of that name. Trees in
 * `a`.
 */
size_t sources_services(const struct sources *s, struct str ns, bool links, struct arena *a,
			struct json ***ret_services);

/* Adds or replaces an object ("configmaps", "secrets", "services") for ever. For tests. */
int sources_put(struct sources *s, const char *resource, struct str text, struct error *err);

/*
 * Requests a token for the pod's account. It is renewed in time, and then on_change is called. An
 * empty audience is the server's. `done` is called once, not from within; the token is borrowed,
 * and empty if `err` is set. After sources_drop() it is called with ERR_CANCELED.
 */
typedef void sources_token_done(void *arg, struct str token, const struct error *err);
void sources_token(struct sources *s, struct pod *pod, struct str audience, int64_t expiry_s,
		   sources_token_done *done, void *arg);
/* No `done` with this argument will be called. */
void sources_token_cancel(struct sources *s, void *arg);

DEFINE_CLEANUP(sources_free, struct sources *);

#endif

/*
 * sources - ConfigMaps, Secrets, Services and tokens that pods of this node use, and changes of
 * them.
 *
 * An object is fetched when a pod first needs it and then watched, by name, while a pod does
 * (upstream's watch-based manager): a node may read only what its pods name. One that says that
 * it is immutable is kept and not watched any more. Services are watched by the namespaces of
 * pods that want their variables, and default/kubernetes. Tokens of service accounts are asked
 * for (TokenRequest, bound to the pod) and renewed at four fifths of their life, or after a day,
 * some seconds earlier by chance.
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
	struct client *client; /* NULL: only what sources_put() gives is there */
	/*
	 * Something that the pod uses has changed: volumes are to be written again. NULL allowed.
	 */
	void (*on_change)(void *arg, struct str pod_uid);
	void *arg;
};

struct sources *sources_new(const struct sources_opts *opts);
void sources_free(struct sources *s); /* NULL allowed; nothing is called any more */

/*
 * Gets all that the pod's volumes, environment and pull secrets name; `done` comes once, not from
 * within, when each is known to be there or not. Again after the pod has changed. What the server
 * does not tell within two seconds is a failure that says why; it may be wanted again, and is
 * then still waited for. After sources_drop() `done` does not come.
 */
typedef void sources_done(void *arg, const struct error *err);
void sources_want(struct sources *s, struct pod *pod, sources_done *done, void *arg);
void sources_drop(struct sources *s, struct str pod_uid);

/* The object's tree in `a`; NULL: it is not there (or was not wanted). */
struct json *sources_config_map(const struct sources *s, struct str ns, struct str name,
				struct arena *a);
struct json *sources_secret(const struct sources *s, struct str ns, struct str name,
			    struct arena *a);

/*
 * The Services whose variables a pod in `ns` gets, ordered by name: with `links` those of the
 * namespace, and default/kubernetes in any case unless the namespace has one of that name. Trees
 * in `a`.
 */
size_t sources_services(const struct sources *s, struct str ns, bool links, struct arena *a,
			struct json ***ret_services);

/* An object by hand ("configmaps", "secrets", "services"), for ever; replaces. For tests. */
int sources_put(struct sources *s, const char *resource, struct str text, struct error *err);

/*
 * A token for the pod's account; renewed in time, then on_change is called. An empty audience is
 * the server's. `done` comes once, not from within: the token is borrowed, and empty when `err`
 * is set. After sources_drop() it comes with ERR_CANCELED.
 */
typedef void sources_token_done(void *arg, struct str token, const struct error *err);
void sources_token(struct sources *s, struct pod *pod, struct str audience, int64_t expiry_s,
		   sources_token_done *done, void *arg);
/* None of this argument's will come. */
void sources_token_cancel(struct sources *s, void *arg);

DEFINE_CLEANUP(sources_free, struct sources *);

#endif

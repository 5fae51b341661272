/*
 * sources - ConfigMaps, Secrets, Services and tokens that pods of this node use, and changes of them.
 *
 * An object is fetched when a pod first needs it and then watched, by name, while a pod does (upstream's
 * watch-based manager): a node may read only what its pods name. Tokens of service accounts are asked for
 * (TokenRequest, bound to the pod) and renewed at four fifths of their life, or after a day.
 * Threads: the loop's.
 */
#ifndef NODE_SOURCES_H
#define NODE_SOURCES_H

#include "base/arena.h"
#include "base/error.h"
#include "base/json.h"
#include "node/pod.h"

struct client;
struct informers;
struct loop;
struct sources;

struct sources_opts {
	struct loop *loop;
	struct client *client;
	struct informers *informers;
	/* Something that the pod uses has changed: volumes are to be written again. */
	void (*on_change)(void *arg, struct str pod_uid);
	void *arg;
};

struct sources *sources_new(const struct sources_opts *opts);
void sources_free(struct sources *s); /* NULL allowed */

/*
 * Gets all that the pod's volumes, environment and pull secrets name; `done` comes once, not from
 * within, when each is known to be there or not. Again after the pod has changed.
 */
typedef void sources_done(void *arg, const struct error *err);
void sources_want(struct sources *s, struct pod *pod, sources_done *done, void *arg);
void sources_drop(struct sources *s, struct str pod_uid);

/* The object's tree in `a`; NULL: it is not there (or was not wanted). */
struct json *sources_config_map(const struct sources *s, struct str ns, struct str name,
				struct arena *a);
struct json *sources_secret(const struct sources *s, struct str ns, struct str name,
			    struct arena *a);

/* A token for the pod's account; renewed in time, then on_change is called. */
typedef void sources_token_done(void *arg, struct str token, const struct error *err);
void sources_token(struct sources *s, struct pod *pod, struct str audience, int64_t expiry_s,
		   sources_token_done *done, void *arg);

#endif

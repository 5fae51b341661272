/*
 * nic_book - who uses which network device: the net driver's memory, and its file.
 *
 * A use is one device of one claim, from before it is prepared until after it is unprepared. What
 * is about to be done stands in the file before it is done (nic_book_save()), so that whoever
 * starts after a crash knows what there is to find. ROOT/plugins/DRIVER/interfaces.json: written
 * beside, synced, renamed. A file that cannot be read, or a use in it, is set aside
 * (interfaces.json.bad) with a message, and nothing is forgotten by that but what could not be
 * read. Marks of pods and of their namespaces (nic_socket.h) are kept in step: made before the save
 * that adds the first use of one, removed after the one that drops its last; what is left over is
 * removed at the start.
 * Threads: the loop's.
 */
#ifndef DRIVERS_NIC_ATTACH_BOOK_H
#define DRIVERS_NIC_ATTACH_BOOK_H

#include "base/core/arena.h"
#include "base/core/list.h"
#include "drivers/nic_inventory/config.h"
#include "drivers/nic_inventory/inventory.h"

struct nic_book;

enum nic_state {
	NIC_PREPARED, /* waits for the pod's namespace */
	NIC_ATTACHING, /* on its way in: may be here, there, or half made */
	NIC_ATTACHED,
	NIC_DETACHING, /* on its way back */
};

struct nic_use {
	struct list link; /* in the book */
	struct arena arena; /* all text and the configuration; lives as long as the use */
	struct arena stay; /* what nic_use_set_sandbox() and _set_result() keep */
	const char *claim_ns, *claim_name, *claim_uid;
	const char *pod_name, *pod_uid; /* in the claim's namespace */
	const char *pool, *share_id; /* share_id may be NULL */
	struct nic nic; /* the device when it was prepared; message is NULL */
	struct nic_config config;
	enum nic_state state;

	/* From ATTACHING on; in the file only then. */
	const char *container_id, *netns; /* the sandbox, and its namespace's path */
	const char *cni_path; /* where plugins were found; or NULL */
	const char *cni_network; /* name of the configuration that asked; NULL: not known */
	uint64_t netns_id; /* netns_id(); 0: it was of an earlier boot, and is gone */
	char interface[RTNL_NAME]; /* its name in the pod, as far as that is text */
	char cni_ifname[RTNL_NAME]; /* `cni`: the name that the plugin was asked for */
	int index; /* and index there; 0: not known yet */
	char peer[RTNL_NAME]; /* veth: the other end, here */
	int parent; /* index here of what it is on; veth: of the bridge, 0: none */
	struct rtnl_link before; /* NIC_HOST: how it was here: name, mac, mtu, up, index */
	char master[RTNL_NAME]; /* NIC_HOST: the bridge or bond that it was part of; "": none */
	const char **altnames; /* NIC_HOST: other names that it had */
	size_t naltnames;
	const struct json *cni_result; /* of `cni`; or NULL */

	/* Not in the file: the driver's own; the file has it; taking it back failed so often. */
	void *arg;
	bool saved;
	unsigned stuck;
};

/*
 * Reads the file. `dir` is ROOT/plugins/DRIVER, made when it is not there. `warn` hears of what is
 * not as it should be and does not stop anything: a file that was set aside, a mark that cannot be
 * removed, an interface that did not get its name back.
 */
int nic_book_open(const char *dir, void (*warn)(void *arg, const char *message), void *arg,
		  struct nic_book **ret_book, struct error *err);
void nic_book_close(struct nic_book *b); /* NULL allowed */

/*
 * A new use, PREPARED, in no file yet. NULL: there are NIC_USES_MAX already. Before the save it
 * wants claim, pod and pool (all but share_id), nic and config.
 */
struct nic_use *nic_book_add(struct nic_book *b);
void nic_book_remove(struct nic_book *b, struct nic_use *u); /* frees it */

/* A copy that lives as long as the use; of STR_NULL: NULL. */
const char *nic_use_text(struct nic_use *u, struct str text);
/*
 * Container, namespace (both wanted) and plugins' path (or NULL) of a sandbox; what was known of an
 * earlier one, its result too, is gone. The copies live until the next call, however often a pod
 * gets a new sandbox. Only while nothing is attached: the old names are what nic_detach() and
 * plugins go by.
 */
void nic_use_set_sandbox(struct nic_use *u, const char *container_id, const char *netns,
			 const char *cni_path);
/* The network for which the sandbox was set; lives as it does. "" is none. */
void nic_use_set_network(struct nic_use *u, const char *network);
/* Another name that a host interface has; beyond NIC_ALTNAMES_MAX, or no text: not kept. */
void nic_use_add_altname(struct nic_use *u, const char *name);
/* Copies a plugin's result (NULL: none). -ERR_TOO_LARGE: it has more than NIC_RESULT_MAX bytes. */
int nic_use_set_result(struct nic_use *u, const struct json *result, struct error *err);

/*
 * Whether it has room in the file: -ERR_TOO_LARGE, with a sentence. Asked before a use grows, that
 * is for each new one by nic_book_save(), and before it is ATTACHING, so that later saves, those of
 * others too, do not fail for it.
 */
int nic_use_check(const struct nic_use *u, struct error *err);

/*
 * The whole, on the disk; marks are made before and removed after. A failure leaves the file and
 * the marks as they were. -ERR_INVALID: a pod's uid or namespace that can be no file's name, or
 * text that is no UTF-8: what could not be read again is not written.
 *
 * The file has the number of the boot. When it is read in another one all namespaces are gone,
 * whatever their paths lead to.
 */
int nic_book_save(struct nic_book *b, struct error *err);

/* All uses: pass NULL to begin, the last one to go on; NULL is the end. */
struct nic_use *nic_book_next(const struct nic_book *b, const struct nic_use *after);
struct nic_use *nic_book_by_device(const struct nic_book *b, struct str pool, struct str device);

/* Says something to the `warn` of nic_book_open(). */
void nic_book_warn(const struct nic_book *b, const char *fmt, ...) PRINTF_LIKE(2, 3);

const char *nic_state_name(enum nic_state state); /* "prepared" .. */

static inline void nic_book_close_cleanup(struct nic_book **b)
{
	nic_book_close(*b);
}

#endif

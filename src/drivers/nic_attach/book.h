/*
 * nic_book - the net driver's record of which pods use which devices, and its file.
 *
 * A use is one device of one claim, from before it is prepared until after it is unprepared. Every
 * operation is recorded in the file before it starts (nic_book_save()), so that the driver can
 * clean up after a crash. The file is ROOT/plugins/DRIVER/interfaces.json, replaced atomically and
 * synced. If the file, or one use in it, cannot be parsed, the old file is kept as
 * interfaces.json.bad, a warning is given, and all other uses are loaded.
 *
 * The mark files of pods and namespaces (nic_socket.h) are kept in step. They are created before
 * the save that adds the first use, and removed after the save that drops the last one. Leftover
 * marks are removed at the start.
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
	NIC_ATTACHING, /* in progress: may be here, in the pod, or half done */
	NIC_ATTACHED,
	NIC_DETACHING, /* in progress */
};

struct nic_use {
	struct list link; /* in the book */
	struct arena arena; /* text and configuration, for the life of the use */
	struct arena stay; /* memory of nic_use_set_sandbox() and _set_result() */
	const char *claim_ns, *claim_name, *claim_uid;
	const char *pod_name, *pod_uid; /* in the namespace of the claim */
	const char *pool, *share_id; /* share_id may be NULL */
	struct nic nic; /* the device when it was prepared; message is NULL */
	struct nic_config config;
	enum nic_state state;

	/* Valid from ATTACHING on, and saved only then. */
	const char *container_id, *netns; /* the sandbox, and the path of its namespace */
	const char *cni_path; /* CNI_PATH of the plugins; or NULL */
	const char *cni_network; /* name of the CNI configuration; NULL: unknown */
	uint64_t netns_id; /* netns_id(); 0: of an earlier boot, so it is gone */
	char interface[RTNL_NAME]; /* its name in the pod, if that is valid UTF-8 */
	char cni_ifname[RTNL_NAME]; /* `cni`: the name that was passed to the plugin */
	int index; /* its index in the pod; 0: unknown yet */
	char peer[RTNL_NAME]; /* veth: the other end, here */
	int parent; /* index of its parent here; veth: of the bridge, 0: none */
	struct rtnl_link before; /* NIC_HOST: its earlier name, mac, mtu, up and index here */
	char master[RTNL_NAME]; /* NIC_HOST: the bridge or bond that it was a port of; "": none */
	const char **altnames; /* NIC_HOST: its alternative names */
	size_t naltnames;
	const struct json *cni_result; /* of `cni`; or NULL */

	/* Not saved: for the driver; whether the file has it; how often detaching failed. */
	void *arg;
	bool saved;
	unsigned stuck;
};

/*
 * Reads the file. `dir` is ROOT/plugins/DRIVER, created if missing. `warn` gets messages about
 * problems that stop nothing: a file that was set aside, a mark that cannot be removed, an
 * interface that could not be renamed back.
 */
int nic_book_open(const char *dir, void (*warn)(void *arg, const char *message), void *arg,
		  struct nic_book **ret_book, struct error *err);
void nic_book_close(struct nic_book *b); /* NULL allowed */

/*
 * Adds a use, PREPARED and not saved yet. Returns NULL if there are NIC_USES_MAX already. Before
 * nic_book_save() set claim, pod, pool, nic and config; share_id is optional.
 */
struct nic_use *nic_book_add(struct nic_book *b);
void nic_book_remove(struct nic_book *b, struct nic_use *u); /* frees it */

/* Copies text for the life of the use. Returns NULL for STR_NULL. */
const char *nic_use_text(struct nic_use *u, struct str text);
/*
 * Sets container, namespace path (both required) and CNI_PATH (or NULL) of a sandbox, and clears
 * the data of the earlier one, including its result. The copies live until the next call, so that
 * new sandboxes of a pod do not add up. Not while something is attached: nic_detach() and plugins
 * need the old names.
 */
void nic_use_set_sandbox(struct nic_use *u, const char *container_id, const char *netns,
			 const char *cni_path);
/* Sets the network of the sandbox; lives as long as that. "": unknown. */
void nic_use_set_network(struct nic_use *u, const char *network);
/* Records an alternative name; ignored beyond NIC_ALTNAMES_MAX, or if it is not UTF-8. */
void nic_use_add_altname(struct nic_use *u, const char *name);
/* Copies a plugin's result, or NULL. Returns -ERR_TOO_LARGE above NIC_RESULT_MAX bytes. */
int nic_use_set_result(struct nic_use *u, const struct json *result, struct error *err);

/*
 * Returns -ERR_TOO_LARGE, with a message, if the use does not fit in the file. nic_book_save()
 * calls it for each new use. Call it before a use becomes ATTACHING, so that later saves, also of
 * other uses, do not fail because of it.
 */
int nic_use_check(const struct nic_use *u, struct error *err);

/*
 * Saves all uses, synced to disk. Creates marks before, and removes marks after that. On failure
 * the file and the marks are unchanged. Returns -ERR_INVALID if a pod's UID or namespace is not a
 * safe file name, or text is not UTF-8, since that could not be read back.
 *
 * The file has the ID of the boot. If it is read after a reboot, all namespaces are gone, whatever
 * their paths lead to.
 */
int nic_book_save(struct nic_book *b, struct error *err);

/* Iterates over all uses: start with NULL, pass the last one; ends with NULL. */
struct nic_use *nic_book_next(const struct nic_book *b, const struct nic_use *after);
struct nic_use *nic_book_by_device(const struct nic_book *b, struct str pool, struct str device);

/* Sends a message to the `warn` callback of nic_book_open(). */
void nic_book_warn(const struct nic_book *b, const char *fmt, ...) PRINTF_LIKE(2, 3);

const char *nic_state_name(enum nic_state state); /* "prepared" .. */

static inline void nic_book_close_cleanup(struct nic_book **b)
{
	nic_book_close(*b);
}

#endif

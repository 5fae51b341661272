/*
 * nic_book - who uses which network device: the net driver's memory, and its file.
 *
 * A use is one device of one claim, from before it is prepared until after it is unprepared. What is
 * about to be done stands in the file before it is done (nic_book_save()), so that whoever starts after
 * a crash knows what there is to find. ROOT/plugins/DRIVER/interfaces.json: written beside, synced,
 * renamed. A file that cannot be read is set aside with a message, and nothing is forgotten by that but
 * what it said. Marks of pods (nic_socket.h) are kept in step: made before the save that adds a pod's
 * first use, removed after the one that drops its last; what is left over is removed at the start.
 * Threads: the loop's.
 */
#ifndef DRIVERS_NIC_BOOK_H
#define DRIVERS_NIC_BOOK_H

#include "base/arena.h"
#include "base/list.h"
#include "drivers/nic_config.h"
#include "drivers/nic_inventory.h"

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
	const char *claim_ns, *claim_name, *claim_uid;
	const char *pod_name, *pod_uid; /* in the claim's namespace */
	const char *pool, *share_id; /* share_id may be NULL */
	struct nic nic; /* the device when it was prepared; message is NULL */
	struct nic_config config;
	enum nic_state state;

	/* From ATTACHING on. */
	const char *container_id, *netns; /* the sandbox, and its namespace's path */
	const char *cni_path; /* where plugins were found */
	uint64_t netns_id; /* netns_id() */
	char interface[RTNL_NAME]; /* its name in the pod */
	int index; /* and index there; 0: not known yet */
	char peer[RTNL_NAME]; /* veth: the other end, here */
	struct rtnl_link before; /* NIC_HOST: how it was here: name, mac, mtu, up, index */
	const struct json *cni_result; /* of `cni`; or NULL */

	/* The driver's own; not in the file. */
	void *arg;
};

/* Reads the file. `dir` is ROOT/plugins/DRIVER, made when it is not there. */
int nic_book_open(const char *dir, void (*warn)(void *arg, const char *message), void *arg,
		  struct nic_book **ret_book, struct error *err);
void nic_book_close(struct nic_book *b); /* NULL allowed */

/* A new use, in no file yet; text is set with nic_use_text(). */
struct nic_use *nic_book_add(struct nic_book *b);
void nic_book_remove(struct nic_book *b, struct nic_use *u); /* frees it */
const char *nic_use_text(struct nic_use *u, struct str text);

/* The whole, on the disk. A failure leaves the file as it was. */
int nic_book_save(struct nic_book *b, struct error *err);

/* All uses: pass NULL to begin, the last one to go on; NULL is the end. */
struct nic_use *nic_book_next(const struct nic_book *b, const struct nic_use *after);
struct nic_use *nic_book_by_device(const struct nic_book *b, struct str pool, struct str device);

const char *nic_state_name(enum nic_state state); /* "prepared" .. */

#endif

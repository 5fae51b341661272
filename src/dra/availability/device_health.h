/*
 * device_health - what is known of the health of every device: the one place, from which every view
 * is made.
 *
 * Three speakers report health. A pod's status has it for the devices of the pod's claims
 * (KEP-4680). A node agent reports it for the devices of its node, whoever holds them, in the
 * annotation DEVICE_HEALTH_ANNOTATION of its Node. A driver reports it in the status of a claim, as
 * condition Ready of a device (KEP-4817). The book keeps what each of them said last; an event
 * costs what its pod, node or claim says.
 *
 * A speaker is believed only in its own affairs, which is decided when a device is looked up. A pod
 * counts for devices that the claim, as it names it, holds and is reserved for the pod. A node
 * counts for devices that only that node reaches. A claim counts for devices that it holds; access
 * for administrators holds nothing. Pods that have ended say nothing.
 *
 * If several speakers disagree, Unhealthy counts more than Unknown and Unknown more than Healthy.
 * Among reports of equal health those of pods come first, then nodes', then claims'; among these
 * the one that carries the newest time, and among these the first by name. So the answer does not
 * depend on the order in which reports came. Taints are another fact: see device_state.h.
 *
 * No I/O, no clock. Nothing of a tree that is put is kept. Messages are cut at
 * RESOURCE_HEALTH_MESSAGE_MAX bytes, and devices of one speaker beyond DEVICE_HEALTH_REPORTS_MAX
 * are ignored.
 * Threads: one at a time.
 */
#ifndef DRA_AVAILABILITY_DEVICE_HEALTH_H
#define DRA_AVAILABILITY_DEVICE_HEALTH_H

#include "base/core/error.h"
#include "base/json/json.h"

struct device_health_book;
struct inventory;
struct inventory_device;

/* If several are reported for a device, the later one counts. */
enum device_health {
	DEVICE_NOT_REPORTED,
	DEVICE_HEALTHY,
	DEVICE_UNKNOWN,
	DEVICE_UNHEALTHY,
	DEVICE_HEALTHS
};

struct device_health_report {
	enum device_health health;
	struct str message; /* or empty */
	/*
	 * When the source began to report this health, in ns since 1970: as the node's agent or the
	 * claim's condition says, or, if the report has no time, when the book first got it.
	 */
	int64_t since;
	struct str source; /* "pod NAMESPACE/NAME", "node NAME", "claim NAMESPACE/NAME" */
};

/* "NotReported", "Healthy", "Unknown", "Unhealthy". */
const char *device_health_name(enum device_health h);
/* DEVICE_NOT_REPORTED for any other text. */
enum device_health device_health_of_name(struct str name);

/*
 * "DRIVER/POOL/DEVICE", the resourceID of pods' status. A pool's name may have slashes. False: it
 * is not one.
 */
bool device_health_split_id(struct str id, struct str *ret_driver, struct str *ret_pool,
			    struct str *ret_device);

/*
 * put and remove call `changed` (or NULL) for each device about which the speaker has changed its
 * report.
 */
struct device_health_book *device_health_book_new(void (*changed)(void *arg, struct str driver,
								  struct str pool,
								  struct str device),
						  void *arg);
void device_health_book_free(struct device_health_book *b); /* NULL allowed */

/* Replaces what the pod of that uid said. `now` is in ns since 1970, for what is new. */
void device_health_book_put_pod(struct device_health_book *b, const struct json *pod, int64_t now);
void device_health_book_remove_pod(struct device_health_book *b, struct str uid);

/*
 * The same for a node, with the text of its annotation: a JSON array of two forms of objects. A
 * device has `id`, `health` ("Unhealthy" or "Unknown"), `since` and `message`. Devices of one pool
 * that are alike have `driver`, `pool`, `health` ("Healthy") and `devices`, an array of their
 * names. Older agents do not write this form, and older readers ignore it. Objects of other forms
 * are ignored. Empty: it says nothing. -ERR_INVALID, or -ERR_TOO_LARGE above
 * DEVICE_HEALTH_ANNOTATION_MAX bytes, and then it says nothing either.
 */
#define DEVICE_HEALTH_ANNOTATION "devplane.dev/device-health"
int device_health_book_put_node(struct device_health_book *b, struct str node, struct str text,
				int64_t now, struct error *err);
void device_health_book_remove_node(struct device_health_book *b, struct str node);

/*
 * The same for a claim, with the array status.devices of it; NULL: it says nothing, or is gone.
 * Condition Ready is "True" for Healthy, "False" for Unhealthy, "Unknown" for Unknown.
 */
void device_health_book_put_claim(struct device_health_book *b, struct str namespace,
				  struct str name, const struct json *devices, int64_t now);

/* What counts for the device. Text is the book's until that changes. `b` may be NULL: nothing. */
struct device_health_report device_health(const struct device_health_book *b,
					  const struct inventory *inv,
					  const struct inventory_device *d);
/*
 * The same by pods and nodes alone. A condition of a claim is for people to see: a driver may keep
 * Ready=False while it sets a device up, so nothing is to be done about the device.
 */
struct device_health_report device_health_without_claims(const struct device_health_book *b,
							 const struct inventory *inv,
							 const struct inventory_device *d);

/*
 * The device was published with that health since then, before the book was made: reports of the
 * same health that are newer, and do not say themselves since when, began then.
 */
void device_health_book_recall(struct device_health_book *b, const struct inventory_device *d,
			       enum device_health health, int64_t since);

size_t device_health_book_reports(const struct device_health_book *b);

#endif

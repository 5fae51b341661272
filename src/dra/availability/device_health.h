/*
 * device_health - collects the reported health of every device (KEP-4680, KEP-4817). All views of
 * device health are made from it.
 *
 * Three speakers report health. A pod's status has it for the devices of the pod's claims
 * (KEP-4680). A node agent reports it for the devices of its node, whoever holds them, in the
 * annotation DEVICE_HEALTH_ANNOTATION of its Node. A driver reports it in the status of a claim, as
 * condition Ready of a device (KEP-4817). The book keeps the latest reports of each speaker.
 * Handling an event costs as much as its pod, node or claim has reports.
 *
 * A lookup believes a speaker only about its own devices. A pod counts for devices of a claim that
 * it names and that is reserved for it. A node counts for devices that only that node reaches. A
 * claim counts for devices that it holds; admin access holds nothing. Reports of finished pods are
 * ignored.
 *
 * If several speakers disagree, Unhealthy counts more than Unknown and Unknown more than Healthy.
 * Among reports of equal health those of pods come first, then nodes', then claims'; among these
 * the one that carries the newest time, and among these the first by name. So the answer does not
 * depend on the order in which reports came. If only one node reaches the device and that node is
 * lost (inventory.h), every report counts as Unknown since then. Taints are separate: see
 * device_state.h.
 *
 * No I/O, no clock. Reports are copied: the book keeps no pointers into JSON trees. Messages are
 * cut at RESOURCE_HEALTH_MESSAGE_MAX bytes, and devices of one speaker beyond
 * DEVICE_HEALTH_REPORTS_MAX are ignored.
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
	 * When the source began to report this health, in ns since 1970: the time in the node
	 * agent's report or the claim's condition, or, without one, when the book first got the
	 * report.
	 */
	int64_t since;
	struct str source; /* "pod NAMESPACE/NAME", "node NAME", "claim NAMESPACE/NAME" */
};

/* "NotReported", "Healthy", "Unknown", "Unhealthy". */
const char *device_health_name(enum device_health h);
/* Returns DEVICE_NOT_REPORTED for any other text. */
enum device_health device_health_of_name(struct str name);

/*
 * Splits "DRIVER/POOL/DEVICE", the resourceID in pods' status. A pool's name may contain slashes.
 * Returns false if the text does not have this form.
 */
bool device_health_split_id(struct str id, struct str *ret_driver, struct str *ret_pool,
			    struct str *ret_device);

/*
 * put and remove call `changed` (may be NULL) for each device whose report by the speaker changed.
 */
struct device_health_book *device_health_book_new(void (*changed)(void *arg, struct str driver,
								  struct str pool,
								  struct str device),
						  void *arg);
void device_health_book_free(struct device_health_book *b); /* NULL allowed */

/*
 * Replaces the reports of the pod with that uid. `now` (ns since 1970) is the beginning of new
 * reports.
 */
void device_health_book_put_pod(struct device_health_book *b, const struct json *pod, int64_t now);
void device_health_book_remove_pod(struct device_health_book *b, struct str uid);

/*
 * The same for a node, with the text of its annotation: a JSON array of two forms of objects. A
 * device has `id`, `health` ("Unhealthy" or "Unknown"), `since` and `message`. Devices of one pool
 * that are alike have `driver`, `pool`, `health` ("Healthy") and `devices`, an array of their
 * names. Older agents do not write this form, and older readers ignore it. Objects of other forms
 * are ignored. An empty text removes all reports of the node. So does an error: -ERR_INVALID, or
 * -ERR_TOO_LARGE above DEVICE_HEALTH_ANNOTATION_MAX bytes.
 */
#define DEVICE_HEALTH_ANNOTATION "devplane.dev/device-health"
int device_health_book_put_node(struct device_health_book *b, struct str node, struct str text,
				int64_t now, struct error *err);
void device_health_book_remove_node(struct device_health_book *b, struct str node);

/*
 * The same for a claim, with its array status.devices. NULL: the claim reports nothing, or is gone.
 * Condition Ready is "True" for Healthy, "False" for Unhealthy, "Unknown" for Unknown.
 */
void device_health_book_put_claim(struct device_health_book *b, struct str namespace,
				  struct str name, const struct json *devices, int64_t now);

/*
 * Returns the report that counts for the device. The book owns the text, until it changes. `b` may
 * be NULL: nothing is reported.
 */
struct device_health_report device_health(const struct device_health_book *b,
					  const struct inventory *inv,
					  const struct inventory_device *d);
/*
 * The same with reports of pods and nodes only, for automatic actions. A claim's condition is only
 * shown to people: a driver may keep Ready=False while it sets a device up.
 */
struct device_health_report device_health_without_claims(const struct device_health_book *b,
							 const struct inventory *inv,
							 const struct inventory_device *d);

/*
 * Recalls a published health from before the book was created. Newer reports of the same health
 * that carry no time of their own began at `since`.
 */
void device_health_book_recall(struct device_health_book *b, const struct inventory_device *d,
			       enum device_health health, int64_t since);

size_t device_health_book_reports(const struct device_health_book *b);

#endif

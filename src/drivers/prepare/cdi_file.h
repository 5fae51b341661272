/*
 * cdi_file - Container Device Interface files as a driver writes them.
 *
 * One file per claim ("k8s.DRIVER-claim-UID.json", kind "k8s.DRIVER/claim") and one per device
 * that has one of its own (kind "k8s.DRIVER/device"). Files are replaced at once, so a runtime
 * never reads half of one.
 */
#ifndef DRIVERS_PREPARE_CDI_FILE_H
#define DRIVERS_PREPARE_CDI_FILE_H

#include "base/json/json.h"
#include "devplane/driver.h"

/* Which file: its class is "claim" or "device", its id a claim's uid or a device's name. */
struct cdi_file {
	const char *dir, *driver, *class, *id;
};

/*
 * Adds to a tree of containerEdits; text is copied into `a`. -ERR_INVALID when something cannot
 * be, such as a variable without '='.
 */
int cdi_file_edit(struct arena *a, struct json *edits, const struct dp_edits *e, struct error *err);

/* A device for cdi_file_write(), with its edits; `name` is borrowed. */
struct json *cdi_file_device(struct arena *a, struct str name, struct json *edits);

/* The name by which containers ask for it: "k8s.DRIVER/CLASS=NAME". In `a`. */
struct str cdi_file_id(struct arena *a, const struct cdi_file *f, struct str name);

/* Whether `id` may be part of a file's name and of a CDI name. */
bool cdi_file_is_safe(struct str id);

/* Writes the devices, a list; the folder is made when it is missing. */
int cdi_file_write(const struct cdi_file *f, struct arena *a, struct json *devices,
		   struct error *err);
bool cdi_file_exists(const struct cdi_file *f);
int cdi_file_remove(const struct cdi_file *f, struct error *err); /* 0 when there is none */

#endif

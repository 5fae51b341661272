/*
 * cdi_file - writes a driver's Container Device Interface (CDI) files.
 *
 * There is one file per claim ("k8s.DRIVER-claim-UID.json", kind "k8s.DRIVER/claim"), and one per
 * device for dp_driver_write_cdi() (kind "k8s.DRIVER/device"). Files are replaced atomically, so a
 * runtime never reads half of one.
 */
#ifndef DRIVERS_PREPARE_CDI_FILE_H
#define DRIVERS_PREPARE_CDI_FILE_H

#include "base/json/json.h"
#include "devplane/driver.h"

/* Identifies a file. `class` is "claim" or "device", `id` the claim's UID or the device's name. */
struct cdi_file {
	const char *dir, *driver, *class, *id;
};

/*
 * Adds edits to a tree of containerEdits. Text is copied into `a`. Returns -ERR_INVALID if an edit
 * is invalid, such as a variable without '='.
 */
int cdi_file_edit(struct arena *a, struct json *edits, const struct dp_edits *e, struct error *err);

/* A device for cdi_file_write(), with its edits; `name` is borrowed. */
struct json *cdi_file_device(struct arena *a, struct str name, struct json *edits);

/* The CDI name for containers: "k8s.DRIVER/CLASS=NAME". Allocated in `a`. */
struct str cdi_file_id(struct arena *a, const struct cdi_file *f, struct str name);

/* Whether `id` is safe as a part of file names and CDI names. */
bool cdi_file_is_safe(struct str id);

/* Writes a file with these devices (a list). Creates the folder if missing. */
int cdi_file_write(const struct cdi_file *f, struct arena *a, struct json *devices,
		   struct error *err);
bool cdi_file_exists(const struct cdi_file *f);
int cdi_file_remove(const struct cdi_file *f, struct error *err); /* 0 if it does not exist */

#endif

/*
 * audit_file - the file that audit lines are appended to, and its rotation.
 *
 * A line is written at once on the caller's thread (audit_file_write()), or later on the file's own
 * (audit_file_send()). One thread at a time rotates the file; older files are compressed and
 * removed on the file's own thread. Lines of several threads are never mixed.
 */
#ifndef SERVER_AUDIT_FILE_H
#define SERVER_AUDIT_FILE_H

#include "server/audit/rotate.h"

struct audit_file;
struct bytes;
struct log;

struct audit_file_opts {
	const char *path; /* appended to, mode 0600; "-" is standard output, which is not rotated */
	struct audit_rotation rotation; /* of zeros: none */
	size_t queue_max; /* lines that may wait for the file's thread; 0: it has none */
	/* A line that was sent is in the file, or lost. Called on the file's thread. */
	void (*sent)(void *arg, bool written);
	void *arg;
	const struct log *log;
};

int audit_file_open(const struct audit_file_opts *opts, struct audit_file **ret_file,
		    struct error *err);

/* Writes the lines that wait. NULL allowed. */
void audit_file_close(struct audit_file *f);

/* Any thread. Returns false if not all of the line could be written. */
bool audit_file_write(struct audit_file *f, struct str line);

/* Any thread; never waits. Returns false if too many lines wait: this one is lost. */
bool audit_file_send(struct audit_file *f, struct bytes *line);

#endif

/*
 * mps_process - the processes of an MPS daemon, also those that an earlier run of the driver left.
 *
 * A daemon leads its own session, and outlives the driver: its clients would die with it. A file in
 * its folder has its pid and start time, so that the next run of the driver takes it over. If the
 * driver died before it wrote the file, the daemon is found by its environment, and killed.
 */
#ifndef DRIVERS_GPU_SHARE_MPS_PROCESS_H
#define DRIVERS_GPU_SHARE_MPS_PROCESS_H

#include "base/core/error.h"
#include "base/core/str.h"

enum {
	MPS_PATH_SIZE = 1024,
	/* Bytes of a daemon's folder: a socket's path has 107 at most. */
	MPS_DIR_MAX = 107 - (int)sizeof("/pipe/control_privileged"),
};

/* A file in the daemon's folder for its owner, which is removed with it. */
#define MPS_OWNER_FILE "share.json"

/* The paths of a daemon. */
struct mps_paths {
	char dir[MPS_PATH_SIZE]; /* its own folder */
	char pipe[MPS_PATH_SIZE]; /* sockets; containers get this folder */
	char log[MPS_PATH_SIZE];
	char output[MPS_PATH_SIZE]; /* file with the daemon's output */
	char pid_file[MPS_PATH_SIZE];
	char socket[MPS_PATH_SIZE]; /* exists when the daemon answers */
};

/* -ERR_INVALID: the name is too long. */
int mps_paths_init(struct mps_paths *p, const char *dir, struct error *err);

/* Makes the folders, and removes the files of a daemon that has ended. */
int mps_paths_prepare(const struct mps_paths *p, struct error *err);
/* Removes folders and files of a daemon, as far as they exist. */
void mps_paths_remove(const struct mps_paths *p);

/* Writes the file about a running daemon. */
int mps_pid_save(const struct mps_paths *p, int pid, struct error *err);
/* The pid in the file, if that very process still runs in this boot; else 0. */
int mps_pid_load(const struct mps_paths *p);

/* Kills the daemon's whole session. */
void mps_session_kill(int pid);

/*
 * Kills processes of this user that were started for the daemon's folder, except those of the
 * session `keep`; 0: all. Returns how many.
 */
size_t mps_kill_strays(const struct mps_paths *p, int keep);

/*
 * At the driver's start: ends the daemons in the subfolders of `base` for which `keep` returns
 * false, and removes their folders. Returns how many daemons ran.
 */
size_t mps_sweep(const char *base, bool (*keep)(void *arg, const char *name), void *arg);

#endif

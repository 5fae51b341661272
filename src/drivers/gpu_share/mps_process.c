/*
 * A process is known by its pid and its start time, which /proc has in ticks since boot; with the
 * ID of the boot that is unique. The program's name would not help: some installations start MPS by
 * a script.
 */
#include "drivers/gpu_share/mps_process.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/arena.h"
#include "base/core/buf.h"
#include "base/core/limits.h"
#include "base/core/mem.h"
#include "base/json/json.h"
#include "base/system/boot.h"
#include "base/system/file.h"
#include "base/system/folder.h"

/* --- folders -------------------------------------------------------------------------------- */

/* Made by MPS in the folder of its sockets. */
static const char *const mps_pipe_files[] = { "control", "control_lock", "control_privileged",
					      "log", "nvidia-cuda-mps-control.pid" };

static bool mps_path_join(char out[static MPS_PATH_SIZE], const char *dir, const char *name)
{
	return snprintf(out, MPS_PATH_SIZE, "%s%s", dir, name) < MPS_PATH_SIZE;
}

int mps_paths_init(struct mps_paths *p, const char *dir, struct error *err)
{
	if (strlen(dir) > MPS_DIR_MAX || !mps_path_join(p->dir, dir, "") ||
	    !mps_path_join(p->pipe, dir, "/pipe") || !mps_path_join(p->log, dir, "/log") ||
	    !mps_path_join(p->output, dir, "/log/output") ||
	    !mps_path_join(p->pid_file, dir, "/daemon.json") ||
	    !mps_path_join(p->socket, dir, "/pipe/control"))
		return error_set(err, ERR_INVALID,
				 "the name of the MPS folder is too long for a socket: %s; use a "
				 "shorter one",
				 dir);
	return 0;
}

static void mps_remove_file(const char *folder, const char *name)
{
	char path[2 * MPS_PATH_SIZE];

	(void)snprintf(path, sizeof(path), "%s/%s", folder, name);
	(void)unlink(path);
}

static void mps_remove_pipe_files(const struct mps_paths *p)
{
	for (size_t i = 0; i < ARRAY_SIZE(mps_pipe_files); i++)
		mps_remove_file(p->pipe, mps_pipe_files[i]);
}

int mps_paths_prepare(const struct mps_paths *p, struct error *err)
{
	int r = folder_make(p->pipe, 0755, err);

	if (r == 0)
		r = folder_make(p->log, 0755, err);
	if (r == 0)
		mps_remove_pipe_files(p);
	return r;
}

void mps_paths_remove(const struct mps_paths *p)
{
	mps_remove_pipe_files(p);
	mps_remove_file(p->log, "control.log");
	mps_remove_file(p->log, "server.log");
	mps_remove_file(p->dir, MPS_OWNER_FILE);
	(void)unlink(p->output);
	(void)unlink(p->pid_file);
	(void)rmdir(p->pipe);
	(void)rmdir(p->log);
	(void)rmdir(p->dir);
}

/* --- processes ------------------------------------------------------------------------------ */

static int mps_proc_read(int pid, const char *name, struct buf *text)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	return file_read(path, text, NULL);
}

struct mps_stat {
	uint64_t session, start;
	char state;
};

/* The name in parentheses may have spaces and parentheses of its own. */
static bool mps_stat_read(int pid, struct mps_stat *ret_stat)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(MACHINE_FILE_MAX);
	struct mps_stat s = { 0 };
	struct str rest, word;
	const char *end;

	if (mps_proc_read(pid, "stat", &text) < 0 || !(end = strrchr(text.p, ')')))
		return false;
	rest = str_from(end + 1);
	/* The first word is empty; then state, ppid, pgrp, session, .. */
	for (size_t i = 2; str_split(&rest, ' ', &word); i++) {
		if (i == 3 && word.n == 1)
			s.state = word.p[0];
		if ((i == 6 && !str_to_u64(word, &s.session)) ||
		    (i == 22 && !str_to_u64(word, &s.start)))
			return false;
		if (i == 22)
			break;
	}
	*ret_stat = s;
	return s.start > 0;
}

int mps_pid_save(const struct mps_paths *p, int pid, struct error *err)
{
	CLEANUP(free) char *boot = boot_id();
	char text[256];
	struct mps_stat s;

	if (!mps_stat_read(pid, &s))
		return error_set(err, ERR_IO, "the MPS daemon has ended at once; see %s",
				 p->output);
	(void)snprintf(text, sizeof(text), "{\"pid\":%d,\"startTime\":%llu,\"bootID\":\"%s\"}\n",
		       pid, (unsigned long long)s.start, boot);
	return file_write_atomic(p->pid_file, str_from(text), 0600, err);
}

int mps_pid_load(const struct mps_paths *p)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(4 * KIB);
	CLEANUP(arena_release) struct arena a;
	CLEANUP(free) char *boot = boot_id();
	struct json *tree = NULL;
	struct mps_stat s;
	int64_t pid;

	arena_init(&a, 64 * KIB);
	if (file_read(p->pid_file, &text, NULL) < 0 ||
	    json_parse(&a, buf_str(&text), NULL, &tree, NULL) < 0 ||
	    !str_eqz(json_text_at(tree, "bootID"), boot))
		return 0;
	pid = json_i64_at(tree, "pid", 0);
	if (pid <= 1 || pid > INT32_MAX || !mps_stat_read((int)pid, &s) || s.state == 'Z' ||
	    s.start != (uint64_t)json_i64_at(tree, "startTime", 0))
		return 0;
	return (int)pid;
}

void mps_session_kill(int pid)
{
	if (pid > 1)
		(void)kill(-pid, SIGKILL);
}

/* --- strays --------------------------------------------------------------------------------- */

static bool mps_has_variable(int pid, const char *variable)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(MACHINE_FILE_MAX);
	struct str rest, piece;

	if (mps_proc_read(pid, "environ", &text) < 0)
		return false;
	rest = buf_str(&text);
	while (rest.n > 0 && str_split(&rest, '\0', &piece))
		if (str_eqz(piece, variable))
			return true;
	return false;
}

static bool mps_is_ours(int pid)
{
	char path[64];
	struct stat st;

	(void)snprintf(path, sizeof(path), "/proc/%d", pid);
	return pid > 1 && pid != getpid() && stat(path, &st) == 0 && st.st_uid == geteuid();
}

size_t mps_kill_strays(const struct mps_paths *p, int keep)
{
	char variable[MPS_PATH_SIZE + 64];
	DIR *d = opendir("/proc");
	const struct dirent *e;
	struct mps_stat s;
	size_t killed = 0;
	uint64_t pid;

	(void)snprintf(variable, sizeof(variable), "CUDA_MPS_PIPE_DIRECTORY=%s", p->pipe);
	while (d && (e = readdir(d))) {
		if (!str_to_u64(str_from(e->d_name), &pid) || pid > INT32_MAX ||
		    !mps_is_ours((int)pid) || !mps_stat_read((int)pid, &s) || s.state == 'Z' ||
		    (keep > 0 && s.session == (uint64_t)keep) ||
		    !mps_has_variable((int)pid, variable))
			continue;
		if (kill((pid_t)pid, SIGKILL) == 0)
			killed++;
	}
	if (d)
		(void)closedir(d);
	return killed;
}

size_t mps_sweep(const char *base, bool (*keep)(void *arg, const char *name), void *arg)
{
	DIR *d = opendir(base);
	const struct dirent *e;
	size_t ended = 0;

	while (d && (e = readdir(d))) {
		char path[2 * MPS_PATH_SIZE];
		struct mps_paths p;

		if (e->d_name[0] == '.' || keep(arg, e->d_name))
			continue;
		(void)snprintf(path, sizeof(path), "%s/%s", base, e->d_name);
		if (mps_paths_init(&p, path, NULL) < 0)
			continue;
		if (mps_pid_load(&p) > 0) {
			mps_session_kill(mps_pid_load(&p));
			ended++;
		}
		ended += mps_kill_strays(&p, 0);
		mps_paths_remove(&p);
	}
	if (d)
		(void)closedir(d);
	return ended;
}

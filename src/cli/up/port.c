/*
 * The kernel's socket table has the inode of the listening socket. Its process is the one with a
 * descriptor of that inode; only root can see descriptors of other users.
 */
#include "cli/up/port.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/core/limits.h"
#include "base/system/file.h"
#include "net/loop/addr.h"

#define LISTENS 0x0A /* TCP_LISTEN in the table */

/* --- the owner ------------------------------------------------------------------------------- */

/* A row: "  0: 0100007F:192B 00000000:0000 0A ... uid timeout inode". */
static bool row_listens(const char *row, int port, uint64_t *ret_inode)
{
	unsigned at, state, local;
	char host[40], remote[48];
	uint64_t inode;

	if (sscanf(row, " %u: %39[0-9A-F]:%x %47[0-9A-F:] %x %*s %*s %*s %*s %*s %" SCNu64, &at,
		   host, &local, remote, &state, &inode) != 6)
		return false;
	if (state != LISTENS || local != (unsigned)port)
		return false;
	*ret_inode = inode;
	return true;
}

static bool find_inode(const char *table, int port, uint64_t *ret_inode)
{
	char row[512];
	bool found = false;
	FILE *f = fopen(table, "re");

	if (!f)
		return false;
	while (!found && fgets(row, sizeof(row), f))
		found = row_listens(row, port, ret_inode);
	(void)fclose(f);
	return found;
}

static bool process_has(const char *pid, const char *socket)
{
	char path[320], target[64];
	const struct dirent *e;
	bool found = false;
	ssize_t n;
	DIR *d;

	(void)snprintf(path, sizeof(path), "/proc/%.20s/fd", pid);
	d = opendir(path);
	while (d && !found && (e = readdir(d))) {
		(void)snprintf(path, sizeof(path), "/proc/%.20s/fd/%s", pid, e->d_name);
		n = readlink(path, target, sizeof(target) - 1);
		if (n > 0) {
			target[n] = 0;
			found = strcmp(target, socket) == 0;
		}
	}
	if (d)
		(void)closedir(d);
	return found;
}

static void describe_process(const char *pid, char *ret_text, size_t size)
{
	CLEANUP(buf_release) struct buf name = BUF_INIT(4 * KIB);
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%.20s/comm", pid);
	(void)file_read(path, &name, NULL);
	while (name.n > 0 && name.p[name.n - 1] == '\n')
		name.n--;
	(void)snprintf(ret_text, size, "%.*s (pid %.20s)", STR_ARG(buf_str(&name)), pid);
}

/* The process that listens on the port: "nginx (pid 812)". Returns false if none is visible. */
static bool up_port_owner(int port, char *ret_text, size_t size)
{
	char socket[64];
	const struct dirent *e;
	bool found = false;
	uint64_t inode;
	DIR *d;

	if (!find_inode("/proc/net/tcp", port, &inode) &&
	    !find_inode("/proc/net/tcp6", port, &inode))
		return false;
	(void)snprintf(socket, sizeof(socket), "socket:[%" PRIu64 "]", inode);
	d = opendir("/proc");
	while (d && !found && (e = readdir(d))) {
		if (e->d_name[0] < '1' || e->d_name[0] > '9' || !process_has(e->d_name, socket))
			continue;
		describe_process(e->d_name, ret_text, size);
		found = true;
	}
	if (d)
		(void)closedir(d);
	return found;
}

/* --- the check ------------------------------------------------------------------------------- */

static int try_bind(const struct addr *a)
{
	int fd = socket(a->sa.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int one = 1, failed = 0;

	if (fd < 0)
		return errno;
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, (const struct sockaddr *)&a->sa, a->len) < 0 || listen(fd, 1) < 0)
		failed = errno;
	(void)close(fd);
	return failed;
}

int up_port_check(const char *address, int port, struct error *err)
{
	char owner[128];
	struct addr a;
	int failed;

	if (port == 0)
		return 0;
	if (addr_parse(&a, str_from(address), (uint16_t)port, NULL) < 0 || a.kind != ADDR_INET)
		return error_set(err, ERR_INVALID, "--bind-address: \"%s\" is not an IP address",
				 address);
	failed = try_bind(&a);
	if (failed == EADDRINUSE && up_port_owner(port, owner, sizeof(owner)))
		return error_set(err, ERR_UNAVAILABLE,
				 "port %d is in use by %s: stop that program, or choose another "
				 "port with --secure-port (0 picks one)",
				 port, owner);
	if (failed == EADDRINUSE)
		return error_set(err, ERR_UNAVAILABLE,
				 "port %d is in use: choose another one with --secure-port (0 "
				 "picks one)",
				 port);
	if (failed == EACCES)
		return error_set(err, ERR_UNAVAILABLE,
				 "port %d is for root alone: choose one from 1024 on with "
				 "--secure-port",
				 port);
	if (failed == EADDRNOTAVAIL)
		return error_set(err, ERR_UNAVAILABLE,
				 "--bind-address: this machine does not have the address %s",
				 address);
	return failed ? error_set_errno(err, ERR_IO, failed, "cannot listen on %s port %d", address,
					port)
		      : 0;
}

int up_port_pick(int *ret_port, struct error *err)
{
	struct sockaddr_in in = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(in);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), failed = 0;

	if (fd < 0 || bind(fd, (const struct sockaddr *)&in, len) < 0 ||
	    getsockname(fd, (struct sockaddr *)&in, &len) < 0)
		failed = errno;
	if (fd >= 0)
		(void)close(fd);
	if (failed)
		return error_set_errno(err, ERR_IO, failed, "cannot find a free port");
	*ret_port = ntohs(in.sin_port);
	return 0;
}

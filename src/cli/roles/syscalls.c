/*
 * A row per call says which roles may make it. The rows become a program for the kernel's filter,
 * one comparison each. For rows that do not check arguments the kernel caches the result in a
 * bitmap, so the length of the list costs nothing. The rows cover our own code, libuv, OpenSSL and
 * LMDB, and the C library's calls for memory, threads, time and name lookup, on both processors.
 * Sanitizers inspect the process from another one, with calls that no role should have, so their
 * builds are not limited.
 */
#include "cli/roles/syscalls.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/core/compiler.h"

#if SANITIZED
#define ARCH 0
#elif defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#else
#define ARCH 0
#endif

enum {
	SERVER = 1,
	CONTROLLER = 2,
	SCHEDULER = 4,
	NODE = 8,
	DRIVER = 16,
	EXPLAIN = 32,
	ALL = 63,

	PROGRAM_MAX = 1024,
	X32 = 0x40000000, /* numbers from here on belong to another ABI */
	NEWEST = 450, /* the oldest headers that we build with do not know later numbers */
	FCHMODAT2 = 452,
};

static const struct list {
	const char *name;
	int role;
} lists[] = {
	{ "server", SERVER }, { "controller", CONTROLLER }, { "scheduler", SCHEDULER },
	{ "node", NODE },     { "driver", DRIVER },         { "explain", EXPLAIN },
};

struct row {
	uint32_t number;
	int roles;
};

static const struct row rows[] = {
	/* bytes */
	{ SYS_read, ALL },
	{ SYS_write, ALL },
	{ SYS_readv, ALL },
	{ SYS_writev, ALL },
	{ SYS_pread64, ALL },
	{ SYS_pwrite64, ALL },
	{ SYS_preadv, ALL },
	{ SYS_pwritev, ALL },
	{ SYS_lseek, ALL },
	{ SYS_sendfile, ALL },
	{ SYS_close, ALL },
	{ SYS_close_range, ALL },
	{ SYS_dup, ALL },
	{ SYS_dup3, ALL },
	{ SYS_fcntl, ALL },
	{ SYS_pipe2, ALL },

	/* events and time */
	{ SYS_epoll_create1, ALL },
	{ SYS_epoll_ctl, ALL },
	{ SYS_epoll_pwait, ALL },
	{ SYS_epoll_pwait2, ALL },
	{ SYS_ppoll, ALL },
	{ SYS_pselect6, ALL },
	{ SYS_eventfd2, ALL },
	{ SYS_signalfd4, ALL },
	{ SYS_timerfd_create, ALL },
	{ SYS_timerfd_settime, ALL },
	{ SYS_timerfd_gettime, ALL },
	{ SYS_clock_gettime, ALL },
	{ SYS_clock_getres, ALL },
	{ SYS_clock_nanosleep, ALL },
	{ SYS_nanosleep, ALL },
	{ SYS_gettimeofday, ALL },
	{ SYS_inotify_init1, NODE | DRIVER },
	{ SYS_inotify_add_watch, NODE | DRIVER },
	{ SYS_inotify_rm_watch, NODE | DRIVER },

	/* sockets; SYS_socket is checked below */
	{ SYS_bind, ALL },
	{ SYS_listen, ALL },
	{ SYS_accept, ALL },
	{ SYS_accept4, ALL },
	{ SYS_connect, ALL },
	{ SYS_getsockname, ALL },
	{ SYS_getpeername, ALL },
	{ SYS_getsockopt, ALL },
	{ SYS_setsockopt, ALL },
	{ SYS_sendto, ALL },
	{ SYS_recvfrom, ALL },
	{ SYS_sendmsg, ALL },
	{ SYS_recvmsg, ALL },
	{ SYS_sendmmsg, ALL },
	{ SYS_recvmmsg, ALL },
	{ SYS_shutdown, ALL },

	/* memory */
	{ SYS_brk, ALL },
	{ SYS_mmap, ALL },
	{ SYS_munmap, ALL },
	{ SYS_mremap, ALL },
	{ SYS_mprotect, ALL },
	{ SYS_madvise, ALL },
	{ SYS_mincore, ALL },
	{ SYS_msync, SERVER },
	{ SYS_mlock, SERVER },
	{ SYS_munlock, SERVER },

	/* threads and signals; SYS_clone is checked below */
	{ SYS_futex, ALL },
	{ SYS_set_robust_list, ALL },
	{ SYS_get_robust_list, ALL },
	{ SYS_set_tid_address, ALL },
	{ SYS_rseq, ALL },
	{ SYS_membarrier, ALL },
	{ SYS_sched_yield, ALL },
	{ SYS_sched_getaffinity, ALL },
	{ SYS_sched_setaffinity, ALL },
	{ SYS_sched_getattr, ALL },
	{ SYS_sched_setattr, ALL },
	{ SYS_sched_getparam, ALL },
	{ SYS_sched_getscheduler, ALL },
	{ SYS_rt_sigaction, ALL },
	{ SYS_rt_sigprocmask, ALL },
	{ SYS_rt_sigreturn, ALL },
	{ SYS_rt_sigtimedwait, ALL },
	{ SYS_sigaltstack, ALL },
	{ SYS_restart_syscall, ALL },
	{ SYS_tgkill, ALL },
	{ SYS_exit, ALL },
	{ SYS_exit_group, ALL },

	/* the process itself and the machine */
	{ SYS_getpid, ALL },
	{ SYS_getppid, ALL },
	{ SYS_gettid, ALL },
	{ SYS_getuid, ALL },
	{ SYS_geteuid, ALL },
	{ SYS_getgid, ALL },
	{ SYS_getegid, ALL },
	{ SYS_getgroups, ALL },
	{ SYS_getcpu, ALL },
	{ SYS_getcwd, ALL },
	{ SYS_getrandom, ALL },
	{ SYS_getrusage, ALL },
	{ SYS_prlimit64, ALL },
	{ SYS_sysinfo, ALL },
	{ SYS_times, ALL },
	{ SYS_umask, ALL },
	{ SYS_uname, ALL },

	/* files */
	{ SYS_openat, ALL },
	{ SYS_fstat, ALL },
	{ SYS_newfstatat, ALL },
	{ SYS_statx, ALL },
	{ SYS_statfs, ALL },
	{ SYS_fstatfs, ALL },
	{ SYS_faccessat, ALL },
	{ SYS_faccessat2, ALL },
	{ SYS_readlinkat, ALL },
	{ SYS_getdents64, ALL },
	{ SYS_fadvise64, ALL },
	{ SYS_name_to_handle_at, NODE },
	{ SYS_flock, SERVER | NODE | DRIVER },
	{ SYS_fsync, SERVER | NODE | DRIVER },
	{ SYS_fdatasync, SERVER | NODE | DRIVER },
	{ SYS_syncfs, SERVER | NODE },
	{ SYS_ftruncate, SERVER | NODE | DRIVER },
	{ SYS_truncate, SERVER },
	{ SYS_fallocate, SERVER },
	{ SYS_memfd_create, SERVER }, /* a kubeconfig for an explanation */
	{ SYS_sync_file_range, SERVER },
	{ SYS_mkdirat, SERVER | NODE | DRIVER },
	{ SYS_unlinkat, SERVER | NODE | DRIVER },
	{ SYS_renameat, SERVER | NODE | DRIVER },
	{ SYS_renameat2, SERVER | NODE | DRIVER },
	{ SYS_fchmod, SERVER | NODE | DRIVER },
	{ SYS_fchmodat, SERVER | NODE | DRIVER },
	{ FCHMODAT2, SERVER | NODE | DRIVER },
	{ SYS_symlinkat, NODE },
	{ SYS_linkat, SERVER | NODE },
	{ SYS_fchown, NODE },
	{ SYS_fchownat, NODE },
	{ SYS_utimensat, NODE },

#ifdef __x86_64__
	/* older calls that the C library still uses here */
	{ SYS_arch_prctl, ALL },
	{ SYS_access, ALL },
	{ SYS_dup2, ALL },
	{ SYS_epoll_wait, ALL },
	{ SYS_lstat, ALL },
	{ SYS_open, ALL },
	{ SYS_pipe, ALL },
	{ SYS_poll, ALL },
	{ SYS_readlink, ALL },
	{ SYS_select, ALL },
	{ SYS_stat, ALL },
	{ SYS_time, ALL },
	{ SYS_chmod, SERVER | NODE | DRIVER },
	{ SYS_mkdir, SERVER | NODE | DRIVER },
	{ SYS_rename, SERVER | NODE | DRIVER },
	{ SYS_rmdir, SERVER | NODE | DRIVER },
	{ SYS_unlink, SERVER | NODE | DRIVER },
	{ SYS_symlink, NODE },
	{ SYS_chown, NODE },
	{ SYS_lchown, NODE },
#endif
};

/* --- the program ----------------------------------------------------------------------------- */

struct filter {
	struct sock_filter v[PROGRAM_MAX];
	unsigned short n;
};

static void syscalls_add(struct filter *f, struct sock_filter step)
{
	if (f->n < PROGRAM_MAX)
		f->v[f->n++] = step;
}

static void add_load(struct filter *f, size_t offset)
{
	syscalls_add(f, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset));
}

static void add_verdict(struct filter *f, uint32_t verdict)
{
	syscalls_add(f, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, verdict));
}

/* The next `steps` instructions run if the comparison holds, and are skipped otherwise. */
static void add_if(struct filter *f, unsigned short how, uint32_t value, uint8_t steps)
{
	syscalls_add(f, (struct sock_filter)BPF_JUMP(BPF_JMP | how | BPF_K, value, 0, steps));
}

static void add_argument(struct filter *f, int index)
{
	/* The lower half, which comes first on both processors. */
	add_load(f, offsetof(struct seccomp_data, args) + (size_t)index * sizeof(uint64_t));
}

static void syscalls_refuse(struct filter *f, int sys_errno)
{
	add_verdict(f, SECCOMP_RET_ERRNO | (uint32_t)sys_errno);
}

static void add_head(struct filter *f)
{
	add_load(f, offsetof(struct seccomp_data, arch));
	syscalls_add(f, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCH, 1, 0));
	syscalls_refuse(f, EPERM);
	add_load(f, offsetof(struct seccomp_data, nr));
	add_if(f, BPF_JGE, X32, 1);
	syscalls_refuse(f, EPERM);
}

/*
 * Threads, but no processes. clone3() has its flags in memory, where the filter cannot see them;
 * the C library works without it.
 */
static void add_clone(struct filter *f)
{
	add_if(f, BPF_JEQ, SYS_clone3, 1);
	syscalls_refuse(f, ENOSYS);
	add_if(f, BPF_JEQ, SYS_clone, 4);
	add_argument(f, 0);
	add_if(f, BPF_JSET, CLONE_THREAD, 1);
	add_verdict(f, SECCOMP_RET_ALLOW);
	syscalls_refuse(f, EPERM);
}

/* Allows a call only if one argument has one of a few values. */
static void add_choice(struct filter *f, uint32_t number, int index, const uint32_t *values,
		       size_t n)
{
	add_if(f, BPF_JEQ, number, (uint8_t)(2 + 2 * n));
	add_argument(f, index);
	for (size_t i = 0; i < n; i++) {
		add_if(f, BPF_JEQ, values[i], 1);
		add_verdict(f, SECCOMP_RET_ALLOW);
	}
	syscalls_refuse(f, EPERM);
}

static void build(struct filter *f, int role)
{
	static const uint32_t families[] = { AF_UNIX, AF_INET, AF_INET6, AF_NETLINK };
	static const uint32_t pairs[] = { AF_UNIX };
	static const uint32_t requests[] = { FIONBIO,    FIONREAD,     FIOCLEX,    TCGETS,
					     TIOCGWINSZ, SIOCGIFINDEX, SIOCGIFNAME };
	static const uint32_t controls[] = { PR_SET_NAME, PR_GET_NAME };

	add_head(f);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (rows[i].roles & role) {
			add_if(f, BPF_JEQ, rows[i].number, 1);
			add_verdict(f, SECCOMP_RET_ALLOW);
		}
	add_clone(f);
	add_choice(f, SYS_socket, 0, families, ARRAY_SIZE(families));
	add_choice(f, SYS_socketpair, 0, pairs, ARRAY_SIZE(pairs));
	add_choice(f, SYS_ioctl, 1, requests, ARRAY_SIZE(requests));
	add_choice(f, SYS_prctl, 0, controls, ARRAY_SIZE(controls));
	add_if(f, BPF_JGT, NEWEST, 1);
	syscalls_refuse(f, ENOSYS);
	syscalls_refuse(f, EPERM);
}

static int find_role(const char *list)
{
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
		if (strcmp(lists[i].name, list) == 0)
			return lists[i].role;
	return 0;
}

int syscalls_limit(const char *list, struct error *err)
{
	struct filter f = { .n = 0 };
	struct sock_fprog program = { .filter = f.v };
	int role = find_role(list);

	if (strcmp(list, "all") == 0)
		return 0;
	if (role == 0)
		return error_set(err, ERR_INVALID, "unknown list of system calls \"%s\"", list);
	if (ARCH == 0)
		return 0;
	build(&f, role);
	program.len = f.n;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) != 0)
		return error_set_errno(
			err, errno == EINVAL || errno == ENOSYS ? ERR_UNIMPLEMENTED : ERR_IO, errno,
			"cannot limit system calls (devplane up does without by --sandbox=false)");
	return 0;
}

int syscalls_limit_by_variable(struct error *err)
{
	const char *list = getenv(SYSCALLS_VARIABLE);
	int r = list ? syscalls_limit(list, err) : 0;

	(void)unsetenv(SYSCALLS_VARIABLE);
	return r;
}

/*
 * role - shared by all long-running commands: log, I/O threads, signals.
 *
 * SIGTERM and SIGINT ask the role to stop; it drains and then calls role_stop(). A second signal
 * stops it at once. role_ready() notifies a service manager that waits for readiness, such as
 * systemd with Type=notify.
 */
#ifndef CLI_ROLES_ROLE_H
#define CLI_ROLES_ROLE_H

#include "base/report/log.h"
#include "base/system/flags.h"
#include "cli/program/command.h"
#include "cli/roles/notify.h"
#include "net/loop/io_threads.h"
#include "net/loop/loop.h"

/* Embed it in the options of a role's command. */
struct role_options {
	int64_t v;
	const char *log_format;
	int64_t io_threads; /* 0: role_threads_for() decides */
	bool orders; /* no flag: the first loop has work that all others wait for */
};

/*
 * The rows for it; `member` is its name in the options struct. Roles that serve on all of their
 * loops have ROLE_FLAGS_PARALLEL.
 */
#define ROLE_FLAGS(type, member)                                             \
	ROLE_LOG_FLAGS(type, member),                                        \
	{                                                                    \
		"io-threads", 0, FLAG_INT(type, member.io_threads),          \
			.arg = "COUNT", .initial = "1", .min = 1, .max = 64, \
			.help = "number of threads that serve connections"   \
	}

#define ROLE_FLAGS_PARALLEL(type, member)                                                    \
	ROLE_LOG_FLAGS(type, member),                                                        \
	{                                                                                    \
		"io-threads", 0, FLAG_INT(type, member.io_threads),                          \
			.arg = "COUNT", .initial = "0", .min = 0, .max = 64,                 \
			.help = "number of threads that serve connections; 0 means one per " \
				"CPU, at most 8, or a single one with fewer than 3 CPUs"     \
	}

#define ROLE_LOG_FLAGS(type, member)                                                         \
	{ "v",                                                                               \
	  0,                                                                                 \
	  FLAG_INT(type, member.v),                                                          \
	  .arg = "LEVEL",                                                                    \
	  .initial = "0",                                                                    \
	  .help = "log level: 0 normal, 2 debug, 5 everything" },                            \
	{                                                                                    \
		"log-format", 0, FLAG_STRING(type, member.log_format),                       \
			.choices = "text|json",                                              \
			.help = "format of log lines; default text on a terminal, else json" \
	}

/* Notes for the rows of roles' commands. */
extern const struct command_note role_exit_status[], role_environment[];

struct role {
	struct log log;
	struct io_threads *io;
	struct loop *loop; /* the first */
	bool spared; /* there is one loop more, and so the first one need not serve connections */
	struct loop_signal *signals[2];
	void (*on_stop)(void *arg); /* stop requested; must lead to role_stop() */
	void *arg;
	struct loop_timer last; /* for role_stop_soon() */
	struct notify notify;
	bool stopping;
};

/* The number of I/O threads on a machine with so many CPUs, for --io-threads 0. */
size_t role_threads_for(size_t cpus);

/* Whether a role with `orders` gets one thread more than so many. */
bool role_spares_first(size_t threads);

/* Removes $NOTIFY_SOCKET from the environment, so that no child process notifies for the role. */
int role_init(struct role *r, const struct role_options *o, void (*on_stop)(void *arg), void *arg,
	      struct error *err);

/* Notifies a waiting service manager that the role is ready. Once is enough. */
void role_ready(const struct role *r);

/* Runs until role_stop(). */
int role_run(struct role *r, struct error *err);
void role_stop(struct role *r);
/* The same in the loop's next turn, so that connections can free their memory before. */
void role_stop_soon(struct role *r);

/* A name of this process, unique over all machines: for elections. */
enum { ROLE_IDENTITY_SIZE = 320 };
void role_identity(char out[static ROLE_IDENTITY_SIZE]);

/* Parses --feature-gates; an invalid entry is bad usage. */
struct cli;
struct gates;
int role_gates(struct cli *cli, const struct flag_list *list, struct gates *ret_gates,
	       struct error *err);

/* Everything opened on its loops must be closed before. */
void role_release(struct role *r);

#endif

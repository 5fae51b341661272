/*
 * state - the mapped file, its locks, and waiting for changes.
 *
 * The lock is one of the process (fcntl), so a forked child does not share it.
 */
#include "state.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Another layout of struct fake_state gets another number. */
#define FAKE_MAGIC UINT64_C(0x66616b65766d6c02)

static struct {
	pthread_mutex_t mutex;
	int fd;
	struct fake_state *state;
} fake = { .mutex = PTHREAD_MUTEX_INITIALIZER, .fd = -1 };

static void file_lock(short type)
{
	struct flock all = { .l_type = type, .l_whence = SEEK_SET };

	while (fcntl(fake.fd, F_SETLKW, &all) < 0 && errno == EINTR)
		;
}

struct fake_state *fake_lock(void)
{
	(void)pthread_mutex_lock(&fake.mutex);
	file_lock(F_WRLCK);
	return fake.state;
}

struct fake_state *fake_lock_held(void)
{
	return fake.state;
}

void fake_unlock(void)
{
	file_lock(F_UNLCK);
	(void)pthread_mutex_unlock(&fake.mutex);
}

static uint32_t initial_gpus(void)
{
	const char *text = getenv("FAKE_NVML_GPUS");
	unsigned long n = text ? strtoul(text, NULL, 10) : 2;

	return n > FAKE_GPUS ? FAKE_GPUS : (uint32_t)n;
}

static bool map_file(const char *path)
{
	void *at;

	fake.fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	if (fake.fd < 0)
		return false;
	file_lock(F_WRLCK);
	at = ftruncate(fake.fd, sizeof(struct fake_state)) < 0
		     ? MAP_FAILED
		     : mmap(NULL, sizeof(struct fake_state), PROT_READ | PROT_WRITE, MAP_SHARED,
			    fake.fd, 0);
	if (at == MAP_FAILED) {
		(void)close(fake.fd);
		fake.fd = -1;
		return false;
	}
	fake.state = at;
	if (fake.state->magic != FAKE_MAGIC)
		fake_reset(fake.state, initial_gpus());
	file_lock(F_UNLCK);
	return true;
}

bool fake_open(void)
{
	const char *path = getenv("FAKE_NVML_STATE");
	bool open;

	(void)pthread_mutex_lock(&fake.mutex);
	if (!fake.state && !path)
		(void)fputs("fake NVML: set FAKE_NVML_STATE to the file of the state\n", stderr);
	open = fake.state || (path && map_file(path));
	(void)pthread_mutex_unlock(&fake.mutex);
	return open;
}

void fake_close(void)
{
	(void)pthread_mutex_lock(&fake.mutex);
	if (fake.state) {
		(void)munmap(fake.state, sizeof(*fake.state));
		(void)close(fake.fd);
		fake.state = NULL;
		fake.fd = -1;
	}
	(void)pthread_mutex_unlock(&fake.mutex);
}

/* A thread that hangs in a call when the process exits still uses the mapping. */
__attribute__((destructor)) static void fake_unload(void)
{
	if (fake.state && fake.state->hanging == 0)
		fake_close();
}

void fake_reset(struct fake_state *s, uint32_t gpus)
{
	memset(s->gpus, 0, sizeof(s->gpus));
	memset(s->faults, 0, sizeof(s->faults));
	s->gpus_n = gpus;
	for (uint32_t i = 0; i < gpus; i++) {
		(void)snprintf(s->gpus[i].uuid, sizeof(s->gpus[i].uuid),
			       "GPU-fa4e0200-4832-3030-8000-%012x", i);
		s->gpus[i].minor = i;
	}
	s->magic = FAKE_MAGIC;
	fake_changed(s);
}

void fake_changed(struct fake_state *s)
{
	atomic_fetch_add(&s->changes, 1);
	(void)syscall(SYS_futex, &s->changes, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

void fake_wait(struct fake_state *s, uint32_t seen, int64_t ms)
{
	struct timespec limit = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

	fake_unlock();
	(void)syscall(SYS_futex, &s->changes, FUTEX_WAIT, seen, ms < 0 ? NULL : &limit, NULL, 0);
	(void)fake_lock();
}

void fake_push_event(struct fake_state *s, const struct fake_event *e)
{
	s->events[s->events_end++ % FAKE_EVENTS] = *e;
	fake_changed(s);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Gives up privileges after the sockets are bound and the certificate is read: another
 * user, another root directory (chroot), and a sandbox of Landlock and a seccomp
 * filter. They apply to the kernel thread that asks for them and to those that it
 * creates later, so main does this before there are others.
 *
 * Landlock permits reading of the directory that has the root (the root's name may
 * refer to another directory later), of the directories of certificate and key, and of
 * /proc/self. It permits writing in the directory of the access log, and removing the
 * pid file and the unix sockets. It permits no TCP connect or bind, and no signals to
 * other processes. What the kernel is too old for is left out; without Landlock the
 * server prints a message.
 *
 * The filter is a list of calls that a web server never makes; they fail with EPERM.
 * Rejected: a list of the calls that it makes (it changes with each C library and
 * OpenSSL, and would break installed servers). io_uring does nothing that Landlock does
 * not see, and can't exec. */
#include "web.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <pwd.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

static void must(int rc, const char *what)
{
	if (rc < 0)
		die(EX_SETUP, "%s: %s", what, strerror(errno));
}

/* ---- another user ---- */

struct who {
	char name[64]; /* empty: the uid has no name */
	uid_t uid;
	gid_t gid;
};

/* NAME, NAME:GROUP, or numbers. */
static void look_up(struct who *w)
{
	char user[64], *colon, *end;
	const struct passwd *p;
	const struct group *g;

	snprintf(user, sizeof(user), "%s", cfg.user);
	colon = strchr(user, ':');
	if (colon)
		*colon++ = 0;
	w->uid = (uid_t)strtoul(user, &end, 10);
	p = *user && !*end ? getpwuid(w->uid) : getpwnam(user);
	if (!p && (!*user || *end))
		die(EX_SETUP, "--user=%s: no such user", cfg.user);
	if (p)
		w->uid = p->pw_uid;
	snprintf(w->name, sizeof(w->name), "%s", p ? p->pw_name : "");
	w->gid = p ? p->pw_gid : (gid_t)w->uid;
	if (!colon)
		return;
	w->gid = (gid_t)strtoul(colon, &end, 10);
	g = *colon && !*end ? getgrgid(w->gid) : getgrnam(colon);
	if (!g && (!*colon || *end))
		die(EX_SETUP, "--user=%s: no such group", cfg.user);
	if (g)
		w->gid = g->gr_gid;
}

static void take_groups(const struct who *w)
{
	must(w->name[0] ? initgroups(w->name, w->gid) : setgroups(1, &w->gid),
	     "setting the groups");
	must(setresgid(w->gid, w->gid, w->gid), "setting the group");
}

static void take_user(const struct who *w)
{
	must(setresuid(w->uid, w->uid, w->uid), "setting the user");
	if (w->uid && setuid(0) == 0)
		die(EX_SETUP, "--user=%s: root privileges were not dropped", cfg.user);
}

/* ---- Landlock ---- */

#define READ (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
#define WRITE (LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_MAKE_REG)
#define REMOVE LANDLOCK_ACCESS_FS_REMOVE_FILE

/* Some headers are too old for these constants (Linux 6.2, 6.7, 6.10, 6.12). */
struct ruleset {
	uint64_t fs, net, scoped;
};
#define FS_ALL(abi)                                                                    \
	((1ull << ((abi) < 2 ? 13 : (abi) < 3 ? 14 : (abi) < 5 ? 15 : 16)) - 1)
#define NET_ALL 3u
#define SCOPE_ALL 3u

static void allow(int set, const char *path, uint64_t what)
{
	struct landlock_path_beneath_attr a = { .allowed_access = what };

	a.parent_fd = open(path, O_PATH | O_CLOEXEC);
	if (a.parent_fd < 0)
		return; /* a missing file needs no rule */
	must(
	    (int)syscall(SYS_landlock_add_rule, set, LANDLOCK_RULE_PATH_BENEATH, &a, 0),
	    path);
	close(a.parent_fd);
}

/* Allow the directory of path. */
static void allow_beside(int set, const char *path, uint64_t what)
{
	char dir[4096];
	size_t n = strlen(path);

	if (n >= sizeof(dir))
		return;
	memcpy(dir, path, n + 1);
	while (n > 1 && dir[n - 1] == '/')
		dir[--n] = 0;
	while (n && dir[n - 1] != '/')
		dir[--n] = 0;
	if (n > 1)
		dir[n - 1] = 0;
	allow(set, n ? dir : ".", what);
}

/* Allow the root, and the directories of its name and of its target: the next root may
 * be there. But never the whole file system. */
static void allow_root(int set)
{
	char real[4096];

	allow(set, cfg.root, READ);
	if (!realpath(cfg.root, real) || !strrchr(real, '/'))
		return;
	if (strrchr(real, '/') != real)
		allow_beside(set, real, READ);
	/* the name may be a symbolic link */
	if (strrchr(cfg.root, '/') > cfg.root && !strstr(cfg.root, ".."))
		allow_beside(set, cfg.root, READ);
}

static void allow_all(int set)
{
	allow_root(set);
	allow(set, "/proc/self", READ);
	if (cfg.tls_cert) {
		allow_beside(set, cfg.tls_cert, LANDLOCK_ACCESS_FS_READ_FILE);
		allow_beside(set, cfg.tls_key, LANDLOCK_ACCESS_FS_READ_FILE);
	}
	if (cfg.access_log && strcmp(cfg.access_log, "-") != 0)
		allow_beside(set, cfg.access_log, WRITE);
	if (cfg.pid_file)
		allow_beside(set, cfg.pid_file, REMOVE | LANDLOCK_ACCESS_FS_READ_FILE);
	for (unsigned i = 0; i < n_listeners; i++)
		if (listeners[i].unlinks)
			allow_beside(set, listeners[i].name + 5, REMOVE);
}

static bool landlock(void)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0,
			   LANDLOCK_CREATE_RULESET_VERSION);
	struct ruleset r = { .fs = FS_ALL(abi),
			     .net = abi >= 4 ? NET_ALL : 0,
			     .scoped = abi >= 6 ? SCOPE_ALL : 0 };
	size_t size = abi >= 6 ? 24 : abi >= 4 ? 16 : 8;
	int set;

	if (abi < 1)
		return false;
	set = (int)syscall(SYS_landlock_create_ruleset, &r, size, 0);
	must(set, "landlock");
	allow_all(set);
	must((int)syscall(SYS_landlock_restrict_self, set, 0), "landlock");
	close(set);
	return true;
}

/* ---- seccomp ---- */

static const unsigned short never[] = {
	SYS_execve,
	SYS_execveat,
	SYS_ptrace,
	SYS_process_vm_readv,
	SYS_process_vm_writev,
	SYS_mount,
	SYS_umount2,
	SYS_pivot_root,
	SYS_chroot,
	SYS_setns,
	SYS_unshare,
	SYS_init_module,
	SYS_finit_module,
	SYS_delete_module,
	SYS_kexec_load,
	SYS_bpf,
	SYS_perf_event_open,
	SYS_userfaultfd,
	SYS_keyctl,
	SYS_add_key,
	SYS_request_key,
	SYS_open_by_handle_at,
	SYS_reboot,
	SYS_swapon,
	SYS_swapoff,
	SYS_settimeofday,
	SYS_clock_settime,
	SYS_sethostname,
	SYS_setdomainname,
	SYS_acct,
	SYS_quotactl,
	SYS_personality,
	SYS_setuid,
	SYS_setgid,
	SYS_setreuid,
	SYS_setregid,
	SYS_setresuid,
	SYS_setresgid,
	SYS_setgroups,
	SYS_capset,
	SYS_socket,
	SYS_bind,
	SYS_connect,
	SYS_listen,
	SYS_pidfd_getfd,
	SYS_move_mount,
	SYS_open_tree,
	SYS_fsopen,
	SYS_mknodat,
#ifdef SYS_fork
	SYS_fork,
	SYS_vfork,
	SYS_mknod,
	SYS_iopl,
	SYS_ioperm,
#endif
};
#define NEVER (sizeof(never) / sizeof(never[0]))

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#else
#define ARCH AUDIT_ARCH_AARCH64
#endif
#define DENY(e) BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (e))
#define LOAD(field)                                                                    \
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define IS(k, yes, no) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (k), (yes), (no))

static void filter(void)
{
	/* Threads may be created, processes not. A filter can't see clone3's flags, and
	 * the C library falls back to clone. 0x40000000: the x32 calls, other numbers
	 * for the same. */
	static const struct sock_filter head[] = {
		LOAD(arch),
		IS(ARCH, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		LOAD(nr),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1),
		DENY(EPERM),
		IS(SYS_clone3, 0, 1),
		DENY(ENOSYS),
		IS(SYS_clone, 0, 4),
		LOAD(args[0]),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 1, 0),
		DENY(EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const size_t h = sizeof(head) / sizeof(head[0]);
	struct sock_filter code[sizeof(head) / sizeof(head[0]) + NEVER + 2];
	struct sock_fprog prog = { (unsigned short)(h + NEVER + 2), code };

	memcpy(code, head, sizeof(head));
	for (size_t i = 0; i < NEVER; i++)
		code[h + i] =
		    (struct sock_filter)IS(never[i], (unsigned char)(NEVER - i), 0);
	code[h + NEVER] =
	    (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	code[h + NEVER + 1] = (struct sock_filter)DENY(EPERM);
	must(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog), "seccomp");
}

void privs_drop(void)
{
	bool change = cfg.user && (geteuid() == 0 || !successor_is());
	struct who w = { .name = "" };

	if (change) {
		look_up(&w);
		log_owner(w.uid, w.gid);
		take_groups(&w);
	}
	if (cfg.chroot) {
		must(chroot(cfg.root), "chroot");
		must(chdir("/"), "chroot");
		cfg.root = "/";
	}
	if (change)
		take_user(&w);
	if (!cfg.sandbox)
		return;
	must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs");
	if (!landlock())
		fputs("ukweb: this kernel has no Landlock: the sandbox only filters "
		      "system calls\n",
		      stderr);
	filter();
}

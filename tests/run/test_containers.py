"""Machines that give less: containers, runners, other sandboxes, old and new kernels' settings. Each
is built for real, out of namespaces and filters, and lnk works in it or says exactly what is missing.

As an ordinary user the container's root is root of a user namespace, as with Docker's userns-remap;
as root it is root itself."""

import os
import re
import shutil

import pytest

from conftest import HELPERS, LNK

IS_ROOT = os.geteuid() == 0
FENCE = HELPERS / "fence"

# A root of its own on a tmpfs, with the machine's system and homes in it; /proc, /sys and /dev as
# Docker's. $MASKS: what Docker covers and makes read only. $MARK: the file by which Docker is known.
ROOT = r"""
set -e
mount --make-rprivate /
R=$(mktemp -d); mount -t tmpfs -o mode=755 tmpfs "$R"
for path in /*; do
    case $path in
    /proc|/sys|/dev|/tmp|/run|/lost+found|/.dockerenv) ;;
    *) if [ -L "$path" ]; then ln -s "$(readlink "$path")" "$R$path"
       elif [ -d "$path" ]; then mkdir "$R$path"; mount --rbind "$path" "$R$path"; fi ;;
    esac
done
mkdir "$R"/proc "$R"/sys "$R"/dev "$R"/run "$R"/.old; mkdir -m 1777 "$R"/tmp
mount -t proc proc "$R"/proc
mount -t sysfs -o ro sysfs "$R"/sys
mount -t tmpfs -o mode=755 tmpfs "$R"/dev
for node in null zero full random urandom tty; do
    touch "$R/dev/$node"; mount --bind "/dev/$node" "$R/dev/$node"
done
mkdir "$R"/dev/pts "$R"/dev/shm; mount -t devpts -o newinstance,ptmxmode=0666 devpts "$R"/dev/pts
ln -s pts/ptmx "$R"/dev/ptmx; ln -s /proc/self/fd "$R"/dev/fd
mount -t tmpfs -o mode=1777 tmpfs "$R"/dev/shm
if [ -n "$MASKS" ]; then
    for path in asound acpi interrupts scsi; do
        [ ! -d "$R/proc/$path" ] || mount -t tmpfs -o ro,size=0 tmpfs "$R/proc/$path"
    done
    for path in kcore keys latency_stats timer_list sched_debug; do
        [ ! -f "$R/proc/$path" ] || mount --bind "$R/dev/null" "$R/proc/$path"
    done
    [ ! -d "$R/sys/firmware" ] || mount -t tmpfs -o ro,size=0 tmpfs "$R/sys/firmware"
    for path in bus fs irq sys sysrq-trigger; do
        [ -e "$R/proc/$path" ] || continue
        mount --bind "$R/proc/$path" "$R/proc/$path"
        mount -o remount,bind,ro,nosuid,nodev,noexec "$R/proc/$path"
    done
fi
[ -z "$MARK" ] || touch "$R$MARK"
cd "$R"; /usr/sbin/pivot_root . .old; umount -l /.old; rmdir /.old
cd "$W"
"""

# What Docker leaves in the bounding set.
CAPS = ("-all,+chown,+dac_override,+fsetid,+fowner,+mknod,+net_raw,+setgid,+setuid,+setfcap,"
        "+setpcap,+net_bind_service,+sys_chroot,+kill,+audit_write")


def squash(text):
    return re.sub(r"\s+", " ", text)


class Place:
    """A machine with less: place(WORDS...) runs lnk with them there."""

    def __init__(self, box, before, script="", **env):
        self.box, self.before, self.script, self.env = box, before, script, env
        (box.dir / "specs").mkdir(exist_ok=True)

    def __call__(self, *words):
        argv = [str(w) for w in (LNK, "sandbox", *words)]
        env = self.box.environment({"W": self.box.proj, **self.env})
        if self.script:
            argv = ["bash", "-c", self.script, "place", *argv]
        return self.box.outside(*self.before, *argv, env=env)

    def run(self, *program, flags=(), spec=None):
        return self("run", "--spec", spec or self.box.specfile, *flags, "--", *program)

    def bare(self, *program, flags=()):
        spec = self.box.spec(f'[files]\nwrite = ["{self.box.proj}"]\n'
                             f'write_dot_files = ["{self.box.proj}"]\n'
                             '[commands]\nallow = ["sh", "touch", "id", "chmod", "true"]\n',
                             "specs/bare.toml")
        return self.run(*program, flags=["--without-namespaces", *flags], spec=spec)

    def specs(self):
        """A plain spec, one with a network, one with a list of commands."""
        plain = f'[files]\nwrite = ["{self.box.proj}"]\n[commands]\nallow = [{{}}]\n'
        return {
            "plain": self.box.spec(plain.format('"*"'), "specs/plain.toml"),
            "network": self.box.spec(plain.format('"*"') + '[internet]\nhosts = ["example.com"]\n',
                                     "specs/network.toml"),
            "commands": self.box.spec(plain.format('"sh", "touch"'), "specs/commands.toml"),
        }

    def works(self, *kinds):
        for kind, spec in self.specs().items():
            result = self.run("sh", "-c", f"touch {kind}; ls /home /tmp >/dev/null 2>&1; exit 7",
                              spec=spec)
            if kind in (kinds or self.specs()):
                assert result.rc == 7 and (self.box.proj / kind).exists(), (kind, result)
                assert "error" not in result.err, result

    def says(self, words, *kinds, but=""):
        """Each refused before the program starts, with these words and without those."""
        for kind, spec in self.specs().items():
            if kinds and kind not in kinds:
                continue
            result = self.run("touch", kind, spec=spec)
            assert result.rc == 125 and not (self.box.proj / kind).exists(), (kind, result)
            assert words in squash(result.err), (kind, result)
            assert not but or but not in result.err, (kind, result)

    def works_bare(self):
        result = self.bare("sh", "-c", f"touch bare; chmod 700 bare; id -u; echo x >{self.box.dir}/out")
        assert result.rc != 125 and result.lines == [self.user()], result
        assert (self.box.proj / "bare").stat().st_mode & 0o777 == 0o700, result
        assert not (self.box.dir / "out").exists(), result

    def user(self):
        return str(os.geteuid())


class Container(Place):
    """Root in a container; `fence` is somebody's filter."""

    def __init__(self, box, fence=(), masks=True, mark="/.dockerenv"):
        user = () if IS_ROOT else ("--user", "--map-root-user")
        fence = f'{FENCE} {",".join(fence)} ' if fence else ""
        super().__init__(
            box, ["unshare", *user, "--mount", "--pid", "--fork", "--kill-child", "--net", "--ipc",
                  "--uts"],
            ROOT + f'exec setpriv --inh-caps=-all --bounding-set={CAPS} {fence}"$@"',
            MASKS="1" if masks else "", MARK=mark, USER="root")

    def user(self):
        return "0"


# --- a, e: root in Docker's container, and in a plain root of Debian -------------------------


def test_docker_as_it_comes(box):
    place = Container(box, fence=["docker"])
    place.says("--security-opt seccomp=unconfined --security-opt apparmor=unconfined "
               "--security-opt systempaths=unconfined` (Docker)")
    place.says("--without-namespaces holds less")
    doctor = place("doctor")
    assert doctor.rc == 125, doctor
    assert "seccomp=unconfined" in doctor.out and "lnk sandbox run cannot work here" in doctor.out
    assert "--without-namespaces works here" in squash(doctor.out), doctor


def test_docker_as_it_comes_without_namespaces(box):
    place = Container(box, fence=["docker"])
    place.works_bare()
    closed = box.home / "closed"
    closed.write_text("x")
    seen = place.bare("sh", "-c", f"read a <{closed} || echo closed; read a </etc/shadow || echo shadow; "
                      "ls 2>/dev/null || echo unlisted")
    assert seen.lines == ["closed", "shadow", "unlisted"], seen


def test_docker_without_its_filter_lacks_a_fresh_proc(box):
    """The one thing that is still missing, and no other."""
    place = Container(box)
    place.says("start it with `--security-opt systempaths=unconfined` (Docker)",
               but="seccomp=unconfined")
    doctor = place("doctor")
    assert doctor.rc == 125 and "systempaths=unconfined" in doctor.out, doctor
    assert "seccomp=unconfined" not in doctor.out, doctor


def test_docker_with_all_three_lifted(box):
    place = Container(box, masks=False)
    place.works()
    place.works_bare()
    doctor = place("doctor")
    assert doctor.rc == 0 and "lnk sandbox run works here" in doctor.out, doctor


def test_a_container_without_a_mark(box):
    """containerd, LXC: by the filter alone."""
    Container(box, fence=["docker"], mark="").says(
        "a system-call filter of whatever started lnk forbids it")
    Container(box, mark="").says("look for such mounts with `findmnt -R /proc`")


def test_root_of_a_plain_debian(box):
    place = Container(box, masks=False, mark="")
    place.works()
    assert place("doctor").rc == 0


def test_in_a_chroot(box):
    """The kernel makes no user namespace there, and says EPERM."""
    user = () if IS_ROOT else ("--user", "--map-root-user")
    script = ROOT.replace('cd "$R"; /usr/sbin/pivot_root', 'mkdir "$R"/in; mount --rbind "$R" "$R"/in; '
                          'exec /usr/sbin/chroot "$R"/in sh -c \'cd "$W"; exec "$@"\' chroot "$@"\n'
                          'cd "$R"; /usr/sbin/pivot_root')
    place = Place(box, ["unshare", *user, "--mount", "--pid", "--fork", "--kill-child", "--net"],
                  script, MASKS="", MARK="")
    place.says("in a chroot")
    place.user = lambda: "0"
    place.works_bare()


# --- b: no user namespaces -------------------------------------------------------------------


def test_no_user_namespaces(box):
    place = Place(box, ["unshare", "--user", "--map-current-user", "--keep-caps"],
                  "echo 0 >/proc/sys/user/max_user_namespaces; "
                  'exec setpriv --ambient-caps=-all --inh-caps=-all "$@"')
    place.says("sudo sysctl user.max_user_namespaces=15000")
    place.works_bare()
    doctor = place("doctor")
    assert doctor.rc == 125 and "--without-namespaces works here" in squash(doctor.out), doctor
    assert "user.max_user_namespaces is 0" in squash(doctor.out), doctor


# --- c: in another sandbox -------------------------------------------------------------------


def inside(box, *flags):
    (box.dir / "specs").mkdir()
    return Place(box, [*box.argv(spec=False, flags=["--write", box.proj, "--write-dot-files",
                                                    box.proj, "--read", box.dir / "specs",
                                                    "--read", LNK.parent.parent, "--quiet",
                                                    *flags])])


def test_in_its_own_sandbox(box):
    place = inside(box)
    place.says("one sandbox does not run in another without its leave")
    place.works_bare()
    doctor = place("doctor")
    assert doctor.rc == 125 and "one sandbox does not run in another" in squash(doctor.out), doctor
    assert "--without-namespaces works here" in squash(doctor.out), doctor


def test_in_a_sandbox_that_leaves_namespaces(box):
    """User namespaces, but no mounts: said, never half."""
    inside(box, "--user-namespaces").says("one sandbox does not run in another without its leave")


def test_in_a_sandbox_without_namespaces(box):
    place = inside(box, "--without-namespaces")
    place.says("one sandbox does not run in another without its leave")
    result = place.bare("true")
    assert result.rc == 125 and "one listener at a time" in result.err, result
    assert "Nor can --without-namespaces" in place("doctor").out


# --- d: a runner of a forge ------------------------------------------------------------------


def test_a_runner(box):
    """No terminal, no session, CI's variables."""
    place = Place(box, ["setsid", "--wait"], CI="true", GITHUB_ACTIONS="true", TERM=None,
                  SHELL=None, RUNNER_TEMP=box.dir / "temp", GITHUB_TOKEN="t0ken")
    place.works()
    place.works_bare()
    seen = place.run("sh", "-c", "echo $CI${GITHUB_TOKEN-none}; tty")
    assert seen.lines == ["truenone", "not a tty"], seen
    assert place("doctor").rc == 0
    shutil.which("sudo")  # set-id programs gain nothing, whether it is here or not
    assert "NoNewPrivs:\t1" in place.run("cat", "/proc/self/status").out


# --- f: Ubuntu's AppArmor --------------------------------------------------------------------


def test_apparmor_that_restricts_user_namespaces(box):
    """The namespace is made, its maps cannot be written; kernel.apparmor_restrict_… reads 1."""
    place = Place(box, [FENCE, "apparmor"])
    wanted = ("load it with `sudo apparmor_parser -r /etc/apparmor.d/lnk`"
              if os.path.exists("/etc/apparmor.d/lnk") else
              "install lnk with `sudo script/install`, which adds the profile share/apparmor/lnk")
    place.says(wanted)
    doctor = place("doctor")
    assert doctor.rc == 125 and wanted in squash(doctor.out), doctor


# --- g: a kernel without nft -----------------------------------------------------------------


def test_a_kernel_without_nft(box):
    place = Place(box, [FENCE, "nft"])
    place.works("plain", "commands")
    place.says("sudo modprobe -a nf_tables", "network")
    place.works_bare()
    doctor = place("doctor")
    assert doctor.rc == 0 and "modprobe -a nf_tables" in squash(doctor.out), doctor
    assert re.search(r"redirected connections \(nft\) +\S+ +no +second", doctor.out), doctor


@pytest.mark.parametrize("kind", ["docker", "nft", "apparmor"])
def test_the_fence_holds_what_it_says(box, kind):
    """The control: without it these calls work on this machine."""
    script = {
        "docker": "import ctypes,os; l=ctypes.CDLL(None,use_errno=True); "
                  "print(l.unshare(0x10000000), l.syscall(435, None, 0), ctypes.get_errno())",
        "nft": "import socket; s=socket.socket(16, 3, 12); print('open')",
        "apparmor": "import ctypes; ctypes.CDLL(None).unshare(0x10000000); "
                    "open('/proc/self/uid_map', 'w'); print('open')",
    }[kind]
    fenced = box.outside(FENCE, kind, "python3", "-c", script)
    free = box.outside("python3", "-c", script)
    assert free.out != fenced.out, (free, fenced)
    assert fenced.out in ("", "-1 -1 38\n") and free.rc == 0, (free, fenced)

"""Rows S: servers of the user's outside, and what leads to them."""

from . import SECRET, Command, Grant, attack
from .kernel import done, probe

PLACES = {
    "home": ("An agent's socket in the home folder (ssh, gpg).", "private,landlock",
             lambda s: s.home / "agent.sock"),
    "tmp": ("A server's socket in /tmp (tmux, X11).", "private,landlock",
            lambda s: s.shared_tmp() / "tmux.sock"),
    "project": ("A server's socket in the project itself, which was there before.", "covers",
                lambda s: s.proj / "dev.sock"),
    "deep": ("The same, three folders further down.", "covers",
             lambda s: s.proj / "a/b/c/dev.sock"),
}


def socket_at(place, tries, guard, where):
    def play(scene):
        name = where(scene)
        name.parent.mkdir(parents=True, exist_ok=True)
        with scene.server(name) as server:
            reached = done((yield probe(scene, "connect", name)))
            return reached or server.calls > 0
    play.__doc__ = f"Connects to {tries[0].lower()}{tries[1:]}"
    attack(f"socket-{place}", "S1" if place in ("project", "deep") else "S4", guard=guard)(play)


for _place, _words in PLACES.items():
    socket_at(_place, *_words)


@attack("socket-read-only", "S2", guard="covers", grant=Grant(read=("home/docs",)))
def _(scene):
    """Connects to a server's socket in a folder that may be read only."""
    name = scene.home / "docs/s.sock"
    name.parent.mkdir()
    with scene.server(name) as server:
        reached = done((yield probe(scene, "connect", name)))
        return reached or server.calls > 0


@attack("socket-docker", "S3", guard="private,landlock")
def _(scene):
    """Connects to the socket of a Docker that runs as the user, which DOCKER_HOST names."""
    name = scene.home / "docker.sock"
    with scene.server(name) as server:
        reached = done((yield probe(scene, "connect", name,
                                    env=(("DOCKER_HOST", f"unix://{name}"),))))
        return reached or server.calls > 0


@attack("socket-abstract", "S1", guard="network,landlock")
def _(scene):
    """Connects to an abstract socket of the session (X11, D-Bus): no file stands for it."""
    name = f"@lnk-escape-{scene.dir.name}"
    with scene.server(name) as server:
        reached = done((yield probe(scene, "connect", name)))
        return reached or server.calls > 0


def variables(name, tries, names):
    def play(scene):
        said = yield Command(("/usr/bin/env",), env=tuple((n, SECRET) for n in names))
        return any(line == f"{n}={SECRET}" for line in said.lines for n in names)
    play.__doc__ = tries
    attack(name, "F20", "S4", guard="environment")(play)


variables("variables", "Reads well-known tokens and addresses of agents in the caller's environment.",
          ("GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY", "NPM_TOKEN", "ANTHROPIC_API_KEY",
           "SSH_AUTH_SOCK", "DOCKER_HOST"))
variables("variables-unknown", "Reads a secret in a variable that no list of well-known ones has.",
          ("COMPANY_DB_PASSWORD",))

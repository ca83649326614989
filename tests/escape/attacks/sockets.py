"""Rows S: servers of the user's outside, and what leads to them."""

from . import Command, Grant, attack
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
    """Connects to a socket that root's daemon would have, found by DOCKER_HOST in the home."""
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


@attack("variables", "S4", "F20", guard="environment")
def _(scene):
    """Reads tokens and the addresses of agents in the caller's environment."""
    secrets = {"GITHUB_TOKEN": "TOPSECRET", "AWS_SECRET_ACCESS_KEY": "TOPSECRET",
               "NPM_TOKEN": "TOPSECRET", "ANTHROPIC_API_KEY": "TOPSECRET",
               "SSH_AUTH_SOCK": "/run/TOPSECRET", "COMPANY_DB_PASSWORD": "TOPSECRET"}
    said = yield Command(("/usr/bin/env",), env=tuple(secrets.items()))
    return any(line.split("=", 1)[0] in secrets and "TOPSECRET" in line for line in said.lines)

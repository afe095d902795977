"""What stands in an agent's settings, as `gateway doctor` looks at it."""

from __future__ import annotations

from gateway.core.value import Value
from gateway.install.base import Site
from gateway.install.detection import Broken, Hook, found_program, hooks_in, settings_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from gateway.core.places import Places
    from gateway.install.base import Agent


class Looked(Value):
    """What stands in an agent's settings, of all levels."""

    agent: Agent
    program: str
    sites: tuple[Site, ...]
    hooks: tuple[Hook, ...]
    broken: tuple[Broken, ...]
    settings: tuple[tuple[str, str, object], ...]

    @property
    def own(self) -> tuple[Hook, ...]:
        """The hooks among them that start this gateway."""
        return tuple(each for each in self.hooks if each.own)


def look(agent: Agent, where: Places, project: str, environment: Mapping[str, str]) -> Looked:
    """Reads an agent's settings."""
    sites = tuple(Site(level, where.home, project, environment) for level in agent.LEVELS)
    everything = [each for site in sites for each in hooks_in(agent, site)]
    program = found_program(agent, environment, project)
    settings = tuple((site.level, path, data) for site in sites for path, data in settings_of(agent, site).items())
    return Looked(
        agent, program, sites=sites,
        hooks=tuple(each for each in everything if isinstance(each, Hook)),
        broken=tuple(each for each in everything if isinstance(each, Broken)), settings=settings,
    )  # fmt: skip

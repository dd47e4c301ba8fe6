"""Agents on show: compare them in an environment, film an episode, write a report."""

from .episode_film import film_episode, save_film
from .play_report import default_agents, play, write_play_report

__all__ = ["default_agents", "film_episode", "play", "save_film", "write_play_report"]

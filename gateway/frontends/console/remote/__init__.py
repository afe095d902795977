"""Answers from elsewhere: who people are (`people`, `sign_in`, `passkeys`), what they are told and where it is sent
(`notices`, `push`, `sending`, `telling`), and what they reach through a tunnel or proxy of the user's (`app`).
"""

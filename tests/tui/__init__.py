"""The app: screens and actions through Pilot, pure parts as tables of cases."""

"""What a person or a schedule starts: the build, the pre-launch gate and the `prebrief` command."""

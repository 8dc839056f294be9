from os import path
import sys

class Job:
    def run(self, n):
        return n

async def main():
    definition = 1

"""Assembler for the SM83, the processor of the Game Boy: ``assemble(path)`` returns a ROM."""

from tools.sm83.assembler import Program, assemble, assemble_text
from tools.sm83.source import AssemblyError

__all__ = ["AssemblyError", "Program", "assemble", "assemble_text"]

"""The hardware: SystemVerilog with parameters, and what is generated from the instruction table and a machine."""

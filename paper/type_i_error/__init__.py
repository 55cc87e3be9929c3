"""A short paper on type-I error and power, made from the CSV files of the repository: `make paper`.

paper.tex is the text. Every number in it is a macro of values.py, a cell of tables.py or a point of
drawings.py, and these read nothing but the files that sources.py names. claims.py holds what the
text says in words to the same files. All that is made lies in build/paper, and is not committed.
"""

"""Do graphs, variables or event files grow over consecutive models?"""
